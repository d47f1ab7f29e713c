"""What a release is made of says the same everywhere: pyproject.toml, the recipe, the citation, the paper."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import alldags as ad

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIB = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")


def bare(requirement):
    return requirement.replace(" ", "")


def test_the_version_is_the_same_everywhere():
    assert {PROJECT["version"], RECIPE["context"]["version"], CITATION["version"], ad.__version__} == {ad.__version__}


def test_the_recipe_needs_what_the_project_needs():
    python, *others = RECIPE["requirements"]["run"]
    assert [bare(one) for one in others] == PROJECT["dependencies"]
    least = RECIPE["context"]["python_min"]
    assert python == "python >=${{ python_min }}"
    assert PROJECT["requires-python"] == f">={least}"
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert bare(RECIPE["requirements"]["host"][-1]) in built


def test_the_recipe_starts_the_same_program_and_has_the_same_licence():
    assert RECIPE["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in PROJECT["scripts"].items()]
    assert RECIPE["about"]["license"] == PROJECT["license"] == CITATION["license"]
    assert (ROOT / RECIPE["about"]["license_file"]).exists()
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_the_commands_that_the_recipe_tests_are_there():
    scripts = [one for test in RECIPE["tests"] for one in test.get("script", [])]
    assert len(scripts) == 2
    assert all(line.split()[0] == "alldags" for line in scripts)
    assert any(
        one.name == "alldags" and one.value == PROJECT["scripts"]["alldags"]
        for one in entry_points(group="console_scripts")
    )


def test_the_citation_is_complete():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"title", "message", "authors", "abstract", "type", "keywords", "references"} <= CITATION.keys()
    assert all("name" in one or {"family-names", "given-names"} <= one.keys() for one in CITATION["authors"])
    assert [one["name"] for one in CITATION["authors"]] == [one["name"] for one in PROJECT["authors"]]
    for reference in CITATION["references"]:
        assert {"type", "title", "authors", "year"} <= reference.keys()


# -- the paper ---------------------------------------------------------------------------------------------------------


def test_the_paper_has_about_a_thousand_words():
    body = PAPER.split("---", 2)[2].partition("# Where the numbers come from")[0]
    assert 750 <= len(body.split()) <= 1250


def test_every_reference_of_the_paper_is_in_its_list_and_the_other_way_round():
    cited = set(re.findall(r"@([a-z]+\d{4})", PAPER.split("---", 2)[2]))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", BIB, re.MULTILINE))


def test_pictures_of_the_paper_are_there_and_made_by_a_script():
    for picture, script in re.findall(r"!\[.*?`python ([\w/.]+)`.*?\]\(([\w/.]+)\)", PAPER, re.DOTALL):
        assert (ROOT / picture).exists()
        assert (ROOT / "paper" / script).resolve().exists()
    assert "](../docs/_static/readme.svg)" in PAPER


def numbers_of_the_paper():
    return re.findall(r"^\| (\S+) \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", PAPER, re.MULTILINE)


def test_every_number_of_the_paper_has_a_command_and_is_in_what_it_printed():
    rows = numbers_of_the_paper()
    assert len(rows) >= 10
    for number, command, place, words in rows:
        lines = [line for line in (ROOT / place).read_text(encoding="utf-8").splitlines() if words in line]
        assert any(number.rstrip("%") in line or number.replace(",", "") in line for line in lines), (number, place)
        script = re.match(r"python -m (\w+)|python ([\w/.]+)", command)
        assert (ROOT / (script[1] or script[2])).exists(), command


def test_no_number_of_the_paper_is_without_a_row():
    body = PAPER.split("---", 2)[2].partition("# Where the numbers come from")[0]
    plain = re.sub(r"```.*?```|\[[^\]]*@[^\]]*\]|\(.*?\.svg\)|`[^`]*`|@\w+", "", body, flags=re.DOTALL)
    said = set(re.findall(r"(?<![\w.-])\d[\d,]*\.?\d*%?(?![\w])", plain)) - {"0.5"}
    counted = {number for number, *_ in numbers_of_the_paper()}
    assert {one.rstrip(".,") for one in said} - counted == set()
