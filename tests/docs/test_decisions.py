"""The decision records: numbered without gaps, one paragraph each, and every link to one leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def test_numbers_have_no_gaps():
    assert len(RECORDS) >= 13
    assert [int(path.name[:4]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_each_is_a_title_with_its_number_and_one_paragraph():
    for path in RECORDS:
        title, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
        assert re.fullmatch(rf"# {int(path.name[:4])}\. .+", title), path.name
        assert len(paragraphs) == 1, path.name


def test_links_to_records_lead_somewhere():
    text = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    text += [
        path.read_text(encoding="utf-8") for room in ("src", "replication") for path in (ROOT / room).rglob("*.py")
    ]
    named = {name for page in text for name in re.findall(r"decisions/(\d{4}-[\w-]+\.md)", page)}
    assert named
    assert named <= {path.name for path in RECORDS}
