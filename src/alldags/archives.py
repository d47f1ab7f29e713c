"""Archives of arrays (npz) that anybody may have written: nothing in them is run, and what is read is bounded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast
from zipfile import ZipInfo

import numpy as np

from alldags.errors import DataError
from alldags.files import replacing
from alldags.memory import check_memory

_SMALL, _MOST_PACKED = 64_000_000, 200  # bytes; how many times larger than its file that is packed may be what is in it


def write_arrays(target: str | os.PathLike[str], arrays: dict[str, Any]) -> None:
    """Write arrays by name, packed unless that makes them so small that `read_arrays` would refuse them.

    Parameters
    ----------
    target
        The file; it appears complete or not at all.
    arrays
        By name.
    """
    with replacing(target) as temporary:
        for write in (np.savez_compressed, np.savez):
            with temporary.open("wb") as file:
                write(file, **cast("Any", arrays))
            if not _is_bomb(temporary.stat().st_size, sum(array.nbytes for array in arrays.values())):
                return


def read_arrays(target: str | os.PathLike[str], known: re.Pattern[str]) -> dict[str, Any]:
    """Return the arrays whose names are known; others are not read, and nothing is unpacked to the disk.

    Sizes are those of the archive's directory, beyond which no byte of a member is read.

    Parameters
    ----------
    target
        The file.
    known
        What whole names of arrays match.
    """
    with Path(target).open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if not hasattr(archive, "files"):
            raise ValueError("it holds a single array")
        members = [one for one in archive.zip.infolist() if known.fullmatch(one.filename.removesuffix(".npy"))]
        check_size(target, members)
        return {name: archive[name] for name in {one.filename.removesuffix(".npy") for one in members}}


def check_size(target: str | os.PathLike[str], members: Iterable[ZipInfo]) -> None:
    """Refuse a file whose members unpack to far more than tables do, or than there is memory for."""
    packed, whole = Path(target).stat().st_size, sum(one.file_size for one in members)
    if _is_bomb(packed, whole):
        raise ValueError(f"{packed / 1e3:,.0f} kB that unpack to {whole / 1e6:,.0f} MB, which no file of a table does")
    check_memory(whole / 8, f"what is in {os.fspath(target)!r}", "use a computer with more", DataError)


def _is_bomb(packed: int, whole: int) -> bool:
    """Tell whether a file unpacks to far more than tables do, as one that was made to fill the memory."""
    return whole > _SMALL and whole > _MOST_PACKED * packed
