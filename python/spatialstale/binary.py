"""Finding and talking to the spatialstale program."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import weakref
from typing import Any, NoReturn

PROTOCOL = 1


class BinaryNotFound(RuntimeError):
    """There is no spatialstale program to run."""


def find_binary(binary: str | os.PathLike[str] | None = None) -> str:
    """The path of the spatialstale program: ``binary``, or ``SPATIALSTALE_BIN``,
    or the one that this package carries, or the one on the ``PATH``."""
    wanted = binary or os.environ.get("SPATIALSTALE_BIN")
    if wanted:
        found = shutil.which(os.fspath(wanted))
        if found is None:
            raise BinaryNotFound(f"{os.fspath(wanted)} is no program that can be run")
        return found
    found = carried() or shutil.which("spatialstale")
    if found is None:
        raise BinaryNotFound(
            "the spatialstale program is not on the PATH; build it with 'go build ./cmd/spatialstale' "
            "and set SPATIALSTALE_BIN to where it is"
        )
    return found


def carried() -> str | None:
    """The program in this package, where it is one of a platform."""
    folder = pathlib.Path(__file__).parent / "bin"
    return next((os.fspath(p) for p in folder.glob("spatialstale*") if os.access(p, os.X_OK)), None)


def main() -> NoReturn:
    """The command ``spatialstale`` of a package that carries the program."""
    program = carried()
    if program is None:
        sys.exit("this installation of the spatialstale package has lost its program; install it again")
    if os.name == "nt":  # where a program cannot take another's place
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])


class Session:
    """A conversation with ``spatialstale env``: a line of JSON there, a line of
    JSON back."""

    def __init__(self, binary: str | os.PathLike[str] | None, arguments: list[str]):
        command = [find_binary(binary), "env", *arguments]
        # What the program says when it fails goes to a file: a pipe that
        # nobody reads would fill.
        self._complaints = tempfile.TemporaryFile()
        # A session of its own keeps an interrupt at the terminal to us.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, start_new_session=True
        )
        self._program = command[0]
        self._asked = False
        self._gone = ""  # why the program can be asked no more
        self._end = weakref.finalize(self, _end, self._process, self._complaints)
        try:
            self.hello = self._read()
            spoken = self.hello.get("protocol")
            if spoken is None:
                raise RuntimeError(self._stranger(json.dumps(self.hello)))
            if spoken != PROTOCOL:
                raise RuntimeError(
                    f"{command[0]} speaks protocol {spoken}, this package speaks {PROTOCOL}; take both from the same version"
                )
        except BaseException:
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the answer. Raises ``ValueError`` with the
        program's words when it refuses the request, which then changed
        nothing."""
        if self._process is None:
            raise RuntimeError(self._gone or "the environment is closed")
        if self._asked:
            self.close()
            raise RuntimeError("the environment was interrupted in the middle of an answer; make it anew")
        self._asked = True
        try:
            self._process.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said is read below
        answer = self._read()
        self._asked = False
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._complaints.seek(0)
            said = self._complaints.read().decode("utf-8", "replace").strip()
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            self._leave(f"the spatialstale program {how}: {said or 'it said nothing'}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._leave(self._stranger(line.decode("utf-8", "replace").strip()))
        return answer

    def _leave(self, why: str) -> NoReturn:
        self._gone = f"{why}; make the environment anew"
        self.close()
        raise RuntimeError(why)

    def _stranger(self, line: str) -> str:
        return (
            f"{self._program} does not speak the protocol of spatialstale env: it wrote {line[:80]!r}; "
            "name the spatialstale program as binary or in SPATIALSTALE_BIN"
        )

    def close(self) -> None:
        """Ends the program. A second time does nothing."""
        self._process = None
        self._end()


def _end(process: subprocess.Popen, complaints: Any) -> None:
    """Ends a program, also one whose environment was dropped without close."""
    for pipe in (process.stdin, process.stdout):
        try:
            pipe.close()
        except BrokenPipeError:
            pass
    try:
        # It ends when its input does. A process that was forked meanwhile may
        # hold that open; there is nothing to wait for then.
        process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    complaints.close()


def arguments(regime: str, size: tuple[int, int], hole_fraction: float, strict_schedule: bool) -> list[str]:
    """The arguments of ``spatialstale env``."""
    rows, cols = size
    args = ["--regime", regime, "--size", f"{rows}x{cols}", "--hole-fraction", repr(float(hole_fraction))]
    if strict_schedule:
        args.append("--strict-schedule")
    return args
