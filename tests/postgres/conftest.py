"""A real PostgreSQL server for `make test-postgres`, on this machine alone; the usual suite does not collect these."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("ALLDAGS_POSTGRES") else ["test_*.py"]


def _program(name: str) -> str:
    found = shutil.which(name) or next(iter(sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))), None)
    assert found, f"{name} of PostgreSQL is not installed"
    return found


def _as_somebody() -> dict[str, object]:
    """The server refuses to run as root: another user, if we are."""
    if os.geteuid() != 0:
        return {}
    user = next(entry for entry in pwd.getpwall() if entry.pw_name in ("postgres", "nobody"))
    return {"user": user.pw_uid, "group": user.pw_gid}


@pytest.fixture(scope="session")
def server():
    """The address of a server that is started for the tests and removed after them."""
    who = _as_somebody()
    with tempfile.TemporaryDirectory(prefix="alldags-pg-", ignore_cleanup_errors=True) as folder:
        if who:
            os.chown(folder, who["user"], who["group"])
        data = Path(folder) / "data"
        quiet = {"stdout": subprocess.DEVNULL, "cwd": folder, "env": {"PATH": os.environ["PATH"]}, **who}
        made = [
            _program("initdb"),
            "-D",
            str(data),
            "-U",
            "tester",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        subprocess.run(made, check=True, **quiet)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [_program("postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", folder, "-F"]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **who)
            try:
                _wait(port)
                yield f"postgresql://tester@127.0.0.1:{port}/postgres"
            finally:
                process.send_signal(signal.SIGINT)  # without waiting for those who are still connected
                process.wait(30)


def _wait(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = subprocess.run(
            [_program("pg_isready"), "-h", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode == 0:
            return
        time.sleep(0.2)
    raise RuntimeError("the server did not start")
