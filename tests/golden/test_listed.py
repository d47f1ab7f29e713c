"""The page of kept numbers lists every file of them, with a script and a test that are there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "reference" / "golden.md").read_text(encoding="utf-8")


def test_every_file_of_numbers_is_listed_with_the_command_that_made_it():
    made = dict(re.findall(r"`(\w+\.json)`: `\w+ (tests/golden/[\w.]+)[^`]*`", PAGE))
    assert set(made) == {path.name for path in HERE.glob("*.json")}
    for numbers, script in made.items():
        assert Path(numbers).stem in (ROOT / script).read_text(encoding="utf-8") + script


def test_every_test_that_is_listed_reads_what_is_listed_beside_it():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "`tests/" in line]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`([\w/.]+\.(?:py|json))`", row)
        test = (ROOT / named[-1]).read_text(encoding="utf-8")
        for name in named[:-1]:
            stem = Path(name).stem
            assert stem in test or Path(name).name == "straight.json", row


def test_every_script_beside_the_numbers_is_on_the_page():
    scripts = {path.name for path in (*HERE.glob("*.py"), *HERE.glob("*.R")) if not path.name.startswith("test_")}
    assert {name for name in scripts if f"tests/golden/{name}" not in PAGE} == set()
