"""What the documentation shows is what the package does."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from functools import cached_property
from pathlib import Path

import matplotlib as mpl
import pytest

import alldags as ad
import replication

ROOT = Path(__file__).parents[2]


def load(path):
    """Import a script that is not part of the package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


OTHER_VERSIONS = 0.011  # of a number: what quantiles of 20,000 draws may differ by
SAMPLED = 0.03  # the same where curves of 1,600 rows are sampled, on another processor

pages = load(ROOT / "tests" / "docs" / "pages.py")


@pytest.mark.parametrize("name", pages.DATA_PAGES)
def test_page_on_public_data_prints_what_it_shows(name, public_data, monkeypatch):
    monkeypatch.setenv("ALLDAGS_DATA", str(public_data))
    check_page(name)


@pytest.mark.skipif(importlib.util.find_spec("causaldata") is None, reason="the data come with the package causaldata")
@pytest.mark.parametrize("name", pages.TEXTBOOK_PAGES)
def test_page_on_textbook_data_prints_what_it_shows(name):
    check_page(name, SAMPLED)


@pytest.mark.skipif(importlib.util.find_spec("dowhy") is None, reason="dowhy is not installed")
@pytest.mark.parametrize("name", pages.DOWHY_PAGES)
def test_page_on_dowhy_prints_what_it_shows(name):
    check_page(name)


@pytest.mark.parametrize("name", pages.PAGES)
def test_page_prints_what_it_shows(name):
    check_page(name)


def check_page(name, slack=0.0):
    """With the versions of constraints.txt, to the last digit written; others draw other numbers."""
    slack = slack if pages.is_pinned() else max(slack, OTHER_VERSIONS)
    outputs = pages.run_page((ROOT / name).read_text(encoding="utf-8"))
    assert outputs
    for output in outputs:
        shown, expected = pages.words_and_numbers(output.shown)
        printed, numbers = pages.words_and_numbers(output.printed)
        assert _rounded(shown) == _rounded(printed), "run tests/docs/pages.py to bring the page up to date"
        assert [pair for pair in zip(expected, numbers, strict=True) if pages.differ(*pair, slack)] == []


def _rounded(words):
    return words.replace(">#%", "#%")


def test_comparison_sees_differences():
    assert pages.words_and_numbers("mean  0.86 of 65,536\n") == ("mean # of #", ["0.86", "65536"])
    assert pages.words_and_numbers("a 1e-05") == ("a #", ["1e-05"])
    assert [pages.differ("0.914", other) for other in ("0.914", "0.915", "0.916")] == [False, False, True]
    assert [pages.differ("0.914", other, OTHER_VERSIONS) for other in ("0.923", "0.94")] == [False, True]
    assert (pages.last_digit("1.25e-05"), pages.last_digit("65536")) == (1e-07, 1.0)
    assert pages.run_page("```python\nprint(1)\n```\n\n```text\n2\n```\n")[0].printed == "1\n"


def test_readme_example_takes_ten_lines():
    code = pages._BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8")).group(2)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_files_of_the_readme_are_the_built_in_example():
    study = ad.datasets.example()
    make = load(ROOT / "examples" / "data" / "make.py")
    assert (ROOT / "examples" / "data" / "smoking.csv").read_text(encoding="utf-8") == make.csv_text(study)
    assert dict(ad.read_graph(ROOT / "examples" / "data" / "smoking.toml").edges) == dict(study.graph.edges)
    moments = ad.Moments.from_table(ROOT / "examples" / "data" / "smoking.csv")
    assert moments.names == study.graph.variables


def modules():
    """All modules of the package, compiled kernels included, and of the replication."""
    found = [item for room in (ad, replication) for item in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
    return sorted(item.name for item in found if not item.name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_doctests(name):
    mpl.use("agg")
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def cached_examples(module):
    """Examples in docstrings of cached properties, which `doctest` does not look at."""
    parser = doctest.DocTestParser()
    for value in list(vars(module).values()):
        if inspect.isclass(value) and value.__module__ == module.__name__:
            for name, item in vars(value).items():
                if isinstance(item, cached_property) and item.__doc__:
                    title = f"{value.__qualname__}.{name}"
                    yield parser.get_doctest(item.__doc__, dict(vars(module)), title, module.__file__, None)


def test_doctests_of_cached_properties():
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name in modules():
        for test in cached_examples(importlib.import_module(name)):
            runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


def public_objects():
    """Classes and functions that users meet by name."""
    for module in (ad, ad.engines, ad.datasets, ad.priors, ad.records):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize(("name", "value"), list(public_objects()))
def test_public_names_are_documented(name, value):
    assert inspect.getdoc(value), f"{name} has no docstring"
    if inspect.isclass(value):
        bare = [
            attribute
            for attribute, item in vars(value).items()
            if not attribute.startswith("_")
            and (inspect.isfunction(item) or isinstance(item, property | classmethod | staticmethod))
            and attribute != "name"
            and not inspect.getdoc(getattr(value, attribute))
        ]
        assert not bare, f"{name} has undocumented members: {bare}"


def test_properties_are_not_rendered_as_types():
    """In the docstring of a property, what precedes a colon in the first line is rendered as its type."""
    classes = [value for _, value in public_objects() if inspect.isclass(value)]
    properties = [
        (value.__name__, name, (item.__doc__ or "").partition("\n")[0])
        for value in classes
        for name, item in vars(value).items()
        if isinstance(item, property | cached_property) and not name.startswith("_")
    ]
    assert len(properties) > 20
    assert [item for item in properties if ":" in re.sub(r"`[^`]*`", "", item[2])] == []


def test_reference_names_everything():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    listed = set(re.findall(r"\.\. auto(?:class|function|exception):: (\w+)", text))
    rooms = {"datasets", "engines", "priors", "records", "schema", "sites"}
    named = {*ad.__all__, *ad.priors.__all__, *ad.records.__all__, "fit_sites", "site_reply", "json_schema"}
    missing = named - listed - rooms - {"__version__"}
    assert not missing, f"add these to a page in docs/reference: {sorted(missing)}"
    assert ".. automodule:: alldags.engines" in text
    assert ".. automodule:: alldags.datasets" in text


def results_of(name):
    """The rows of a table that the calibration kept, by their first cells."""
    lines = (ROOT / "calibration" / "results" / name).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    titles = cells[0]
    return {tuple(row[:2]): dict(zip(titles, row, strict=True)) for row in cells[2:]}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_what_averaging_buys_is_what_the_calibration_kept(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    errors = {row[0]: found["over least squares"] for row, found in results_of("confounders.md").items()}
    assert f"error was {errors['three strong, 20 x 100, effect 0.5']} times" in text
    cells = results_of("defaults.md")
    bent, lines = (float(cells["squared confounder", one]["covered"].rstrip("%")) for one in ("default", "straight"))
    assert f"held the truth in {bent:g}% of 200 data sets, those of straight lines in {lines:g}%" in text
    if page == "README.md":
        assert f"300 rows {errors['ten weak, 50 x 300, effect 0.5']} times" in text
        worse = float(cells["noise by covariate", "default"]["squared error"])
        assert f"{worse / float(cells['noise by covariate', 'straight']['squared error']):.1f} times that of" in text


def test_first_pages_speak_to_people_who_know_trials_and_regression():
    for name in ("README.md", "docs/index.md", "docs/quickstart.md", "docs/how-to/which-options.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.findall(r"by lot|drawn by lot|\bchild(?:ren)?\b", text), name


def test_the_landing_page_prints_what_the_readme_prints():
    shown = [
        next(body for kind, body in pages._BLOCK.findall((ROOT / name).read_text(encoding="utf-8")) if kind == "text")
        for name in ("README.md", "docs/index.md")
    ]
    assert shown[0] == shown[1]


def test_the_command_of_the_readme_prints_its_answer_to_the_digit():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (alldags effect .*)$", text, flags=re.MULTILINE)
    answer = next(body for kind, body in pages._BLOCK.findall(text) if kind == "text")
    assert pages.run_command(commands[0]).splitlines()[:-1] == answer.splitlines()[:-1]  # where more is differs


def test_readme_lists_every_engine():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| engine |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == set(ad.engines._NAMES)
