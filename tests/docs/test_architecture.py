"""What the page "Architecture" says of the folders is true of the folders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "alldags"
TEXT = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")


def rooms() -> list[list[str]]:
    """Return the rows of the table of rooms: names of files and folders."""
    table = TEXT.partition("| room | what is in it |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.strip().splitlines()[1:]]
    return [[name.removesuffix(".py").strip("/") for name in re.findall(r"`([\w/.]+)`", cell)] for cell in cells]


def test_every_room_of_the_package_is_in_the_table():
    listed = [name for row in rooms() for name in row]
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(listed) == sorted(found - {"__init__"})


def test_rows_stand_in_the_order_of_the_import_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["containers"] == ["alldags"])
    assert [sorted(row) for row in rooms()] == [sorted(layer.split(" | ")) for layer in layers]


def test_files_named_on_the_page_exist():
    named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+(?:\.py|\.md|\.toml)|(?:[\w-]+/)+)`", TEXT))
    assert len(named) > 30
    missing = {name for name in named if "yours" not in name and not any((base / name).exists() for base in bases())}
    assert missing == set()


def bases() -> tuple[Path, ...]:
    return ROOT, PACKAGE, PACKAGE / "engines"


def test_folders_for_new_files_exist():
    for name in re.findall(r"`((?:\w+/)+)yours\.py`", TEXT):
        assert (PACKAGE / name).is_dir(), name


def test_the_picture_is_what_its_script_draws():
    names: dict[str, object] = {"__file__": str(ROOT / "docs" / "figures" / "architecture.py"), "__name__": "figure"}
    exec((ROOT / "docs" / "figures" / "architecture.py").read_text(encoding="utf-8"), names)
    assert names["picture"]() == (ROOT / "docs" / "_static" / "architecture.svg").read_text(encoding="utf-8")
