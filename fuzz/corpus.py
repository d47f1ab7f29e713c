"""Cases that were findings once, kept as files in ``tests/fuzz_corpus/<target>/``; the tests ask all of them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from fuzz.targets import Case

FOLDER = Path(__file__).parents[1] / "tests" / "fuzz_corpus"


def keep(target: str, case: Case, folder: Path = FOLDER) -> Path:
    """Write a case to the corpus; its name is its checksum."""
    path = folder / target / f"{hashlib.sha256(case.content).hexdigest()[:12]}.{case.ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case.content)
    return path


def kept(folder: Path = FOLDER) -> Iterator[tuple[str, Path]]:
    """Yield the target and the file of every case."""
    for path in sorted(folder.glob("*/*")):
        yield path.parent.name, path


def case_of(path: Path) -> Case:
    """Read a case."""
    return Case(path.suffix[1:], path.read_bytes())
