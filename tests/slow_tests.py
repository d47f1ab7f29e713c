"""``python tests/slow_tests.py suite.xml [room.xml ...]``: lists in tests/slow.txt what ``make quick`` leaves out.

The files are what ``pytest --junitxml`` wrote of a whole run, with kernels compiled, and of rooms by themselves, whose
tests load what others have loaded before in a whole run: the longer time counts. Of every room, a folder of tests
or a file beside them, the fastest tests stay that together take three seconds; the others are listed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

SECONDS = 3.0  # of a room, measured where loops are loaded; starting up and loading them come on top
LIST = Path(__file__).parent / "slow.txt"


def read_list() -> frozenset[str]:
    """Return the tests that are left out, as ``folder/file.py::test``."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def function(node: str) -> str:
    """Return the test that a collected item belongs to, below tests/ and without its parameters."""
    return node.removeprefix("tests/").split("[")[0]


def seconds(report: Path) -> dict[str, float]:
    """Return how long each test took, all its parameters together."""
    found: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        module = case.attrib["classname"].removeprefix("tests.").replace(".", "/")
        found[f"{module}.py::{case.attrib['name'].split('[')[0]}"] += float(case.attrib["time"])
    return found


def slow(times: dict[str, float]) -> list[str]:
    """Return the tests of each room that do not fit."""
    rooms: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for name, time in times.items():
        rooms[name.split("/")[0].split("::")[0]].append((time, name))
    found = []
    for tests in rooms.values():
        totals = accumulate(time for time, _ in sorted(tests))
        found += [name for (_, name), total in zip(sorted(tests), totals, strict=True) if total > SECONDS]
    return sorted(found)


if __name__ == "__main__":
    reports = [seconds(Path(name)) for name in sys.argv[1:]]
    longest = {name: max(report.get(name, 0.0) for report in reports) for report in reports for name in report}
    LIST.write_text("\n".join(slow(longest)) + "\n", encoding="utf-8")
