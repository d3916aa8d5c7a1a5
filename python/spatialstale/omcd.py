"""OMCD before an agent of one's own: a memory is audited against what is seen now."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .binary import find_binary

# Exit codes of ``spatialstale audit`` that come with an answer: nothing stale,
# something unaudited, something stale, over the cap.
ANSWERED = (0, 3, 4, 5)

Entry = "str | Mapping[str, Any]"
Image = "bytes | str | os.PathLike[str]"


class AuditError(RuntimeError):
    """A memory could not be audited. ``audit`` is what is known all the same, such
    as what to keep when the model was down; None when nothing is."""

    def __init__(self, message: str, audit: "Audit | None" = None, status: int | None = None):
        super().__init__(message)
        self.audit = audit
        self.status = status  #: of the service's answer


@dataclass(frozen=True)
class Verdict:
    """The judgment on one entry; docs/audit.md says what the words mean."""

    id: str
    status: str  #: "stale", "valid", "not-covered" or "unaudited"
    action: str  #: "kept", "removed", "marked", "unknown" or "kept, escalated"
    tier: str = ""  #: what judged it: "record", "facts" or "model"
    why: str = ""  #: of an entry that is unaudited
    reason: str = ""
    confidence: float | None = None  #: from 0 to 1, the model's own
    proposed: str = ""  #: what it should say, with the policy "correct"
    flags: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True)
class Audit:
    """What came of an audit."""

    kept: list[Any]  #: the caller's entries that an agent may be shown; marked ones with their new text
    verdicts: list[Verdict]  #: one for each entry, in order
    escalated: bool  #: more entries are stale than may be removed at once: nothing was removed
    model: str
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)  #: calls, tokens, and dollars where the price is known
    failures: list[Mapping[str, Any]] = field(default_factory=list)  #: of calls

    @property
    def stale(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.status == "stale"]


def audit(
    memories: "Iterable[Entry]",
    observation: "str | Mapping[str, Any]" = "",
    *,
    model: str | None = None,
    images: "Sequence[Image]" = (),
    context: str = "",
    policy: str = "remove",
    protect: Iterable[str] = (),
    honour: Iterable[str] = (),
    closed: bool = False,
    shadow: bool = False,
    max_removed: int | None = None,
    max_removed_share: float | None = None,
    url: str | None = None,
    token: str | None = None,
    timeout: float = 600,
    arguments: Sequence[str] = (),
    binary: str | os.PathLike[str] | None = None,
) -> Audit:
    """Audits a memory against what is seen now and says what to keep.

    Parameters
    ----------
    memories: texts, or ``{"text": …, "id": …, "kind": …}``. What a record says of
        itself (``protected``, ``replaced_by``, ``expires``, ``invalid_at``) counts
        only if ``honour`` names it. The kind is yours.
    observation: what is seen, as text, or as facts by their keys, by which entries
        that say "key: value" are judged without a model.
    model: such as "openai/gpt-4o", with its key in the environment; "none" for rules
        alone. With a service, one that it lists; its first unless given.
    images: PNG, JPEG or GIF files of what is seen, as paths or bytes.
    context: what the memory and the observation are about, in a sentence or two.
    policy: "remove", "mark", "unknown" or "correct".
    protect: kinds that are never asked about or removed.
    honour: of "protected", "replaced_by", "expiry".
    closed: leave out what could not be audited.
    shadow: keep everything.
    max_removed, max_removed_share: over these nothing is removed, and the audit is
        escalated.
    url, token: of a service (``spatialstale serve``). Unless given, the program runs.
    timeout: seconds for all of it.
    arguments: further flags of ``spatialstale audit``, without a service.

    Raises ``AuditError`` when no call was answered or something was wrong with what
    was given.
    """
    if isinstance(memories, (str, bytes, Mapping)):  # of which list() would make entries of its characters or keys
        raise TypeError("memories is a list of texts or records, not one of them")
    own = list(memories)
    entries = [{"text": m} if isinstance(m, str) else dict(m) for m in own]
    for i, entry in enumerate(entries):
        if not isinstance(entry.get("text"), str):
            raise ValueError(f"memory {i + 1} has no text")
    honour = list(honour)
    pictures = [bytes(i) if isinstance(i, (bytes, bytearray)) else pathlib.Path(i).read_bytes() for i in images]
    options = {
        "context": context,
        "policy": policy,
        "protect": list(protect),
        "closed": closed,
        "shadow": shadow,
        "max_removed": max_removed,
        "max_removed_share": max_removed_share,
    }
    if url is not None:
        answer = _asked(url, token, timeout, entries, observation, pictures, model, honour, options)
        return _result(answer, own)
    if model is None:
        raise ValueError('name a model, such as model="openai/gpt-4o", or the url of a service')
    return _run(find_binary(binary), timeout, entries, own, observation, pictures, model, honour, options, arguments)


def _result(answer: Mapping[str, Any], own: list[Any]) -> Audit:
    kept = []
    for k in answer["kept"]:
        entry = own[k["index"]]
        if isinstance(entry, str):
            kept.append(k["text"])
        else:
            kept.append(entry if entry["text"] == k["text"] else {**entry, "text": k["text"]})
    verdicts = [Verdict(**{**v, "flags": tuple(v.get("flags", ()))}) for v in answer["verdicts"]]
    return Audit(
        kept, verdicts, answer["escalated"], answer["model"], answer["counts"], answer["usage"], answer.get("failures", [])
    )


def _run(binary, timeout, entries, own, observation, pictures, model, honour, options, arguments) -> Audit:
    """Has the program audit."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "audit", "--memories", "-", "--format", "json", "--json", "--quiet", "--model", model]
        if observation:
            seen = pathlib.Path(folder) / "observation"
            text = observation if isinstance(observation, str) else json.dumps(_flat(observation))
            seen.write_text(text, encoding="utf-8")
            command += ["--observation", os.fspath(seen)]
        for i, picture in enumerate(pictures):
            path = pathlib.Path(folder) / f"image{i}"
            path.write_bytes(picture)
            command += ["--image", os.fspath(path)]
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                command.append(flag)
            elif isinstance(value, list):
                command += [f"{flag}={v}" for v in value]
            elif value is not None and value is not False and value != "":
                command.append(f"{flag}={value}")
        command += [f"--honour={h}" for h in dict.fromkeys([*honour, "kind"])]
        lines = "".join(json.dumps(e, ensure_ascii=False, default=str) + "\n" for e in entries)
        try:
            done = subprocess.run([*command, *arguments], input=lines.encode("utf-8"), capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise AuditError(f"the audit was not done after {timeout} s") from None
    result = None
    if done.stdout.startswith(b"{"):
        result = _result(json.loads(done.stdout), own)
    if done.returncode in ANSWERED and result is not None:
        return result
    said = done.stderr.decode("utf-8", "replace").strip().removeprefix("spatialstale: ")
    raise AuditError(said or f"spatialstale audit ended with {done.returncode}", result)


def _asked(url, token, timeout, entries, observation, pictures, model, honour, options) -> Mapping[str, Any]:
    """Asks a service."""
    if not isinstance(observation, str):
        seen: dict[str, Any] = {"facts": _flat(observation)}
    else:
        seen = {"text": observation}
    if pictures:
        seen["images"] = [base64.b64encode(p).decode() for p in pictures]
    claimed = ("protected", "replaced_by", "expires", "invalid_at")
    body = {
        "memories": [
            {k: str(e[k]) for k in ("id", "text", "kind") if e.get(k) is not None}
            | {"claims": {k: e[k] for k in claimed if e.get(k) is not None}}
            for e in entries
        ],
        "observation": seen,
        "honour": {h: True for h in honour},
        **{k: v for k, v in options.items() if v not in (None, "", False, [])},
    }
    if model is not None:
        body["model"] = model
    request = urllib.request.Request(
        url.rstrip("/") + "/v1/audit",
        data=json.dumps(body, default=str).encode(),
        headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AuditError(_problem(error), status=error.code) from None
    except OSError as error:
        raise AuditError(f"{url} cannot be asked: {getattr(error, 'reason', error)}") from None


def _problem(error: urllib.error.HTTPError) -> str:
    """What a service says is wrong."""
    try:
        said = json.loads(error.read())
        parts = [said.get("detail") or said.get("title") or error.reason]
        parts += [f"{e.get('location', '')}: {e.get('message', '')}" for e in said.get("errors") or []]
        return "; ".join(parts)
    except (ValueError, AttributeError):
        return f"the service answered {error.code} {error.reason}"


def _flat(facts: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Facts key by key; inner keys are joined by dots."""
    out: dict[str, str] = {}
    for key, value in facts.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{before}{key}.")
        else:
            out[f"{before}{key}"] = value if isinstance(value, str) else json.dumps(value)
    return out
