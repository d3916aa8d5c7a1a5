"""A study with an auditor, an agent or a memory that is a Python function."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .binary import find_binary
from .frames import TABLES, Frames, load

DETECTORS = ("omcd",)
STRATEGIES = ("no-memory", "no-filter", "self-verify", "omcd")

Auditor = Callable[[list[dict[str, str]], dict[str, Any]], "Mapping[str, Any] | Iterable[Mapping[str, Any]]"]
Agent = Callable[[dict[str, Any]], "str | tuple[str, Any]"]
Memory = Callable[[dict[str, Any]], "Mapping[str, str] | Iterable[Mapping[str, str]] | None | tuple[Any, Any]"]


def run(
    auditor: Auditor | None = None,
    agent: Agent | None = None,
    study: str | os.PathLike[str] = "quick",
    *,
    memory: Memory | None = None,
    name: str = "mine",
    models: str | Iterable[str] = "ref/reader",
    grid: bool = False,
    version: str | None = None,
    workers: int = 1,
    settings: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    engine: str = "pandas",
    tables: tuple[str, ...] | list[str] = TABLES,
    binary: str | os.PathLike[str] | None = None,
) -> Frames:
    """Runs a study in which a function audits the memory, keeps it, or walks, and
    returns its data frames.

    Parameters
    ----------
    auditor: called with the entries, each ``{"memory_id": …, "text": …}``, and the
        observation, ``{"modality": …, "text": …}`` (a picture is ``"png"``, bytes).
        It returns verdicts: ``{memory_id: "stale" | "valid" | "not_covered"}``, or
        a list of ``{"memory_id": …, "verdict": …, "confidence": …, "reasoning": …}``.
        An entry that it leaves out is unanswered.
    agent: called with the request of a step (docs/methods.md) and returns "UP",
        "DOWN", "LEFT" or "RIGHT", or that and a state, which it is told again at
        the next step as ``request["state"]``.
    study: a preset or a YAML file.
    memory: called before each step with its request (docs/methods.md), which has the
        memory as it is now as ``request["entries"]``, and returns what it is from
        then on: ``{memory_id: text}``, a list of ``{"memory_id": …, "text": …}``, or
        None for no change; or that and a state, as an agent does. With an auditor
        beside it its strategy is called "NAME memory".
    name: of the auditor's or the memory's strategy, and of the agent, which walks as
        "agent/NAME".
    models: who walks beside the agent, and whose own audits are compared.
    grid: send the observation cell by cell too, as ``observation["grid"]``; tables
        say so.
    version: tells functions of one name apart in runs that are reported together;
        the hash of their source unless given.
    workers: calls of the functions at once; with 1 they need not be thread-safe.
    settings: further settings of the study, as in ``["seeds=3", "regimes=L1"]``.
    out: the run folder, which is kept; a temporary one unless given.
    engine, tables, binary: as for ``load``.
    """
    if auditor is None and agent is None and memory is None:
        raise ValueError("give an auditor, an agent or a memory")
    walkers = [models] if isinstance(models, str) else list(models)
    wants = ["grid"] if grid else []
    functions = {"audit": _audit(auditor), "act": _stateful("action", agent), "remember": _stateful("entries", memory, _entries)}
    with _served(functions, workers) as url, tempfile.TemporaryDirectory() as temporary:
        method = {"http": url, "wants": wants, "workers": workers, "version": _version(auditor, agent, memory) if version is None else version}
        chosen = {}
        if agent is not None:
            chosen["agents"] = {name: method}
            walkers.append(f"agent/{name}")
        own = [] if auditor is None else [{"name": name, "auditor": method}]
        chosen["models"] = walkers
        chosen["detection.detectors"] = [*DETECTORS, *own]
        keeper = name if auditor is None else f"{name} memory"
        keepers = [] if memory is None else [{"name": keeper, "memory": method}]
        chosen["navigation.strategies"] = [*STRATEGIES, *own, *keepers, "oracle"]
        arguments = [find_binary(binary), "run", os.fspath(study)]
        for key, value in chosen.items():
            arguments += ["--set", f"{key}={json.dumps(value)}"]
        for setting in settings:
            arguments += ["--set", setting]
        folder = pathlib.Path(temporary) / "run" if out is None else pathlib.Path(out)
        done = subprocess.run([*arguments, "--out", os.fspath(folder)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"spatialstale run ended with {done.returncode}")
        return load(folder, engine=engine, tables=tables, binary=binary)


def _version(*functions: Callable[..., Any] | None) -> str:
    """Tells functions from others, so that runs of different ones have trials of
    their own: by their source, or else by chance."""
    try:
        text = "\n".join(inspect.getsource(f) for f in functions if f is not None)
    except (OSError, TypeError):
        text = secrets.token_hex(16)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _audit(auditor: Auditor | None) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Answers the requests of an audit by a function."""
    if auditor is None:
        return None

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        observation = dict(request["observation"])
        if "png" in request:
            import base64

            observation["png"] = base64.b64decode(request["png"])
        said = auditor(request["entries"], observation)
        if isinstance(said, Mapping):
            said = [{"memory_id": key, "verdict": value} for key, value in said.items()]
        return {"judgments": [dict(judgment) for judgment in said]}

    return answer


def _stateful(member: str, function: Callable[[dict[str, Any]], Any] | None, shape: Callable[[Any], Any] = lambda said: said):
    """Answers the requests of an episode by a function that may have a state."""
    if function is None:
        return None

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        said = function(request)
        said, state = said if isinstance(said, tuple) else (said, None)
        return {member: shape(said), "state": state}

    return answer


def _entries(said: Any) -> list[dict[str, str]] | None:
    """The entries of a memory in the form of the protocol."""
    if said is None:
        return None
    if isinstance(said, Mapping):
        return [{"memory_id": key, "text": text} for key, text in said.items()]
    return [dict(entry) for entry in said]


@contextmanager
def _served(functions: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]] | None], workers: int):
    """Answers requests on this machine, at an address that nobody can guess."""
    turn = threading.BoundedSemaphore(max(1, workers))
    path = "/" + secrets.token_urlsafe(18)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        function = functions.get(request["type"])
        if function is None:
            raise ValueError(f"no function was given for requests of the type {request['type']}")
        return {"id": request["id"], **function(request)}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = 404
            reply = b""
            if self.path == path:
                try:
                    with turn:
                        reply, status = json.dumps(answer(json.loads(body))).encode(), 200
                except Exception as error:  # the function's own: it fails this trial
                    reply, status = f"{type(error).__name__}: {error}".encode(), 422
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{path}"
    finally:
        server.shutdown()
        server.server_close()
