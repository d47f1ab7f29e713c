"""Is there memory for what is asked? Refused before work starts, instead of a machine that stands still."""

from __future__ import annotations

import sys
from pathlib import Path

from alldags.errors import AlldagsError

_NUMBER = 8  # bytes


def check_memory(numbers: float, what: str, fix: str, error: type[AlldagsError] = AlldagsError) -> None:
    """Refuse work on so many numbers at once if they would not fit into the memory that is free.

    Examples
    --------
    >>> from alldags.memory import check_memory
    >>> check_memory(1000, "a thousand draws", "ask for fewer")  # there is
    """
    needed = numbers * _NUMBER
    if needed < 2**26:
        return  # not worth a look
    free = free_memory()
    if needed > free:
        raise error(f"{what} need about {needed / 1e9:.2g} GB of memory, more than the {free / 1e9:.2g} GB free; {fix}")


def free_memory() -> float:
    """Return the bytes that can still be had, by the system and by the limits of this process; infinite if unknown."""
    return min(_free_in_system(), _left_of_limit())


def _free_in_system() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    sizes = {line.split(":")[0]: 1024.0 * float(line.split()[1]) for line in lines}
    return sizes.get("MemAvailable", float("inf")) + sizes.get("SwapFree", 0.0)


def _left_of_limit() -> float:
    if sys.platform == "win32":
        return float("inf")
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except OSError:
        used = 0
    return float(max(limit - used, 0))
