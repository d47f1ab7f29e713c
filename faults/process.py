"""Programs of ours, run as this user or as one without rights, and what is required of their end."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
NOBODY = 65534
# Who may read everything, so that a Python in root's home can be started, and write to nothing of others.
WITHOUT_RIGHTS = [
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
]  # fmt: skip
LIMIT = 240.0  # seconds after which a program hangs


class Fault(Exception):  # noqa: N818  (what is looked for)
    """Something was lost, damaged, or said in the wrong way."""


@dataclass(frozen=True)
class Place:
    """Where and as whom programs run.

    Parameters
    ----------
    folder
        Writable; everything is done in it.
    user
        ``"root"``, ``"nobody"``, or the name of whoever runs this.
    rng
        Of the moments.
    environment
        Set for all programs.
    before
        Words before those of every program.
    """

    folder: Path
    user: str
    rng: Random
    environment: dict[str, str]
    before: tuple[str, ...] = ()

    def start(self, words: Sequence[str], limits: dict[int, int] | None = None, **changed: str) -> Any:
        """Start ``python`` with these words, in a session of its own."""
        prefix = WITHOUT_RIGHTS if self._lowers else []
        return subprocess.Popen(
            [*self.before, *prefix, sys.executable, *words],
            cwd=self.folder,
            env={**self.environment, **changed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_limited(limits or {}),
        )

    def run(self, words: Sequence[str], limits: dict[int, int] | None = None, **changed: str) -> tuple[int, str, str]:
        """Run to the end; return exit code, output and errors."""
        program = self.start(words, limits, **changed)
        try:
            out, err = program.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            kill(program)
            raise Fault(f"did not end in {LIMIT:.0f} s: {words}") from None
        return program.returncode, out, err

    @property
    def _lowers(self) -> bool:
        return self.user == "nobody"


@contextmanager
def small_disk(place: Place, kilobytes: int) -> Iterator[SmallDisk]:
    """Lend a file system of its own that holds so much, in the folder ``small``; programs elsewhere do not see it."""
    folder = place.folder / "small"
    folder.mkdir(exist_ok=True)
    script = f"mount -t tmpfs -o size={kilobytes}k,mode=777 none {folder} && echo ready && exec sleep 600"
    holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout is None or holder.stdout.readline() != "ready\n":
            raise Fault("no file system of its own can be had")
        enter = ("nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", f"--wdns={folder}")
        yield SmallDisk(replace(place, before=enter), Path(f"/proc/{holder.pid}/root{folder}"))
    finally:
        holder.kill()
        holder.communicate()


def can_mount() -> bool:
    """Return whether this user may have file systems of its own."""
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return bool(shutil.which("nsenter")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class SmallDisk:
    """A file system of its own.

    Parameters
    ----------
    place
        Programs started here are in it.
    folder
        Where it is seen from outside.
    """

    place: Place
    folder: Path

    def grow(self, kilobytes: int) -> None:
        """Make room."""
        folder = str(self.place.folder / "small")
        subprocess.run([*self.place.before, "mount", "-o", f"remount,size={kilobytes}k", folder], check=True)


def _limited(limits: dict[int, int]) -> Callable[[], None]:
    def set_limits() -> None:
        for kind, value in limits.items():
            resource.setrlimit(kind, (value, value))

    return set_limits


def kill(program: Any) -> None:
    """End a program and all it started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, 9)
    program.communicate()


def kill_after(program: Any, seconds: float) -> bool:
    """Kill after some time; False if the program had ended by itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and program.poll() is None:
        time.sleep(0.002)
    by_itself = program.poll() is not None
    kill(program)
    return not by_itself


def users() -> list[str]:
    """Return whom programs can be run as: this user and, for root, one without rights."""
    if os.getuid() != 0:
        return [os.environ.get("USER", str(os.getuid()))]
    return ["root", "nobody"] if shutil.which("setpriv") and reachable() else ["root"]


def reachable() -> bool:
    """Can a user without rights start this Python, and read the project?"""
    command = [*WITHOUT_RIGHTS, sys.executable, "-c", "import numpy"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def require_refusal(code: int, out: str, err: str) -> None:
    """Require exit code 2 and one message, without a traceback."""
    last = err.strip().splitlines()[-1:] or [""]
    if code != 2 or not last[0].startswith("alldags: ") or "Traceback" in err + out:
        raise Fault(f"exit code {code}: {err.strip()[-600:]}")


def require_answer(code: int, out: str, err: str) -> None:
    """Require exit code 0 and an answer."""
    if code != 0 or not out or "Traceback" in err:
        raise Fault(f"exit code {code}: {err.strip()[-600:]}")
