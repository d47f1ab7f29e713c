"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alldags.errors import AlldagsError

LOCK = ".lock"
UNFINISHED = ".*.tmp"  # what a killed process may leave behind


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it takes the target's name at the end, and is removed on an error.

    Whoever opens the target meanwhile sees the old file or the new one, never half of one. A symbolic link stays one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from alldags.files import replacing
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("42")
    ...     target.exists()
    False
    >>> target.read_text()
    '42'
    """
    final = Path(target).resolve()
    temporary = final.with_name(f".{final.name[:100]}.{os.urandom(8).hex()}.tmp")
    try:
        yield temporary
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, line ends as they are, complete or not at all."""
    with replacing(target) as temporary:
        temporary.write_bytes(text.encode())


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left of files in this folder."""
    for path in folder.glob(UNFINISHED):
        path.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; refuse it while another process does.

    The operating system lets go of the lock when a process ends, however that happens: nothing is left to clean up.
    """
    with (folder / LOCK).open("a+b") as file:
        if not _locked(file.fileno()):
            raise AlldagsError(
                f"another process is at work in the folder {str(folder)!r}; wait for it, or choose another folder"
            )
        yield


def _locked(descriptor: int) -> bool:
    """Lock an open file for this process; say whether that worked, or cannot work in this file system."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
    return True
