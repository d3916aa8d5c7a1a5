"""OMCD over the program and over the service, with a server that judges by a rule."""

import http.server
import json
import os
import re
import struct
import subprocess
import threading
import zlib

import pytest

import spatialstale
from spatialstale.binary import find_binary

TOKEN = "a-token-of-the-test-that-is-long-enough-0123456789"


def judge(text: str, seen: str) -> str:
    if text.startswith("The lamp with the number"):
        return "valid" if f"| {text}\n" in seen else "stale"
    subject = text.split()[0]
    return "stale" if f"{subject} is gone" in seen else "valid" if text in seen else "not_covered"


class Handler(http.server.BaseHTTPRequestHandler):
    down = False
    pictures = 0  # of the last request

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.down:
            self.send_error(400, "down")
            return
        content = body["messages"][-1]["content"]
        prompt = content if isinstance(content, str) else "".join(p.get("text", "") for p in content)
        type(self).pictures = 0 if isinstance(content, str) else sum(p["type"] == "image_url" for p in content)
        seen, entries = prompt.split("The observation:\n")[1].split("\nThe entries:\n")
        judgments = [
            {"memory_id": m, "reasoning": "so the rule", "verdict": judge(json.loads(t), seen), "confidence": 0.9}
            for m, t in re.findall(r'^\[(m\d+)\] (".*")$', entries, re.M)
        ]
        reply = json.dumps(
            {
                "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps({"judgments": judgments})}}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


@pytest.fixture
def model(monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("FAKE_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("FAKE_API_KEY", "none")
    monkeypatch.setattr(Handler, "down", False)
    yield "openai-api/fake/m"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["program", "service"])
def door(request, model):
    """How the audit is asked for."""
    if request.param == "program":
        yield {"model": model}
        return
    service = subprocess.Popen(
        [find_binary(), "serve", "--model", model, "--listen", "127.0.0.1:0", "--quiet", "--honour", "expiry"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPATIALSTALE_TOKEN": TOKEN},
    )
    try:
        yield {"url": service.stdout.readline().strip(), "token": TOKEN}
    finally:
        service.terminate()
        service.wait(timeout=20)
        service.stdout.close()


MEMORIES = ["redis runs here", {"id": "b", "text": "nginx runs here", "more": 1}, "pgsql é runs here"]


def test_filter(door):
    r = spatialstale.audit(MEMORIES, "redis is gone\nnginx runs here", **door)
    assert r.kept == MEMORIES[1:] and not r.escalated
    assert [v.status for v in r.verdicts] == ["stale", "valid", "not-covered"]
    assert r.verdicts[0].confidence == 0.9 and r.verdicts[0].tier == "model" and r.verdicts[1].id == "b"
    assert r.stale == r.verdicts[:1] and r.counts["stale"] == 1 and r.usage["calls"] == 1


def test_policies(door):
    seen = "redis is gone\nnginx is gone"
    r = spatialstale.audit(MEMORIES, seen, policy="mark", **door)
    assert r.kept[0] == "[may no longer hold] redis runs here"
    assert r.kept[1] == {"id": "b", "text": "[may no longer hold] nginx runs here", "more": 1}
    r = spatialstale.audit(MEMORIES, seen, max_removed=1, **door)
    assert r.escalated and r.kept == MEMORIES
    r = spatialstale.audit([{"text": "redis runs here", "kind": "rule"}], seen, protect=["rule"], **door)
    assert r.verdicts[0].why == "protected" and len(r.kept) == 1
    r = spatialstale.audit([{"text": "redis runs here", "expires": "2020-01-01T00:00:00Z"}], "x", honour=["expiry"], **door)
    assert r.verdicts[0].tier == "record" and r.kept == []


def test_facts(door):
    r = spatialstale.audit(["port: 8080", "db.host: a"], {"port": 9090, "db": {"host": "a"}}, **door)
    assert [v.status for v in r.verdicts] == ["stale", "valid"] and all(v.tier == "facts" for v in r.verdicts)


def test_pictures(door, tmp_path):
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(png)
    r = spatialstale.audit(["redis runs here"], "redis is gone", images=[png, tmp_path / "a.png"], **door)
    assert r.kept == []
    assert Handler.pictures == 2


def test_errors(door, monkeypatch):
    for single in ("The door is open.", MEMORIES[0], {"id": "x", "text": "a"}):
        with pytest.raises(TypeError, match="a list of texts or records"):
            spatialstale.audit(single, "seen", **door)
    with pytest.raises(ValueError, match="memory 2 has no text"):
        spatialstale.audit(["a", {"id": "x"}], "seen", **door)
    with pytest.raises(spatialstale.AuditError, match="policy|mark"):
        spatialstale.audit(["a"], "seen", policy="burn", **door)
    monkeypatch.setattr(Handler, "down", True)
    with pytest.raises(spatialstale.AuditError) as caught:
        spatialstale.audit(MEMORIES, "redis is gone", **door)
    if "model" in door:
        assert caught.value.audit.kept == MEMORIES and "could not be asked" in str(caught.value)
    else:
        assert caught.value.status == 502


def test_wrong_token(door):
    if "url" in door:
        with pytest.raises(spatialstale.AuditError, match="needs a token|token") as caught:
            spatialstale.audit(["a"], "seen", url=door["url"], token="x")
        assert caught.value.status == 401
    else:
        with pytest.raises(ValueError, match="name a model"):
            spatialstale.audit(["a"], "seen")
    with pytest.raises(spatialstale.AuditError, match="cannot be asked"):
        spatialstale.audit(["a"], "seen", url="http://127.0.0.1:9", token="x")
