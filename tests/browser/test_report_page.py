"""The report in a browser."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

import alldags as ad
from app.test_app import trial, write_csv
from browser.conftest import axe, colours, overflow, reached_by_tab, resize
from lines import fit
from show.test_report import HOSTILE, refitted

LONG = "change_of_systolic_blood_pressure_after_twelve_months"


@pytest.fixture(scope="module")
def effect():
    """Straight lines: their report has sliders."""
    study = ad.datasets.example()
    return fit(study.table, study.graph, rng=0).effect("smoking", "risk")


@pytest.fixture(scope="module")
def report(effect, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "r.html"
    effect.report(target)
    return target.as_uri()


@pytest.fixture(scope="module")
def reports(report, tmp_path_factory):
    """Reports on effects of several kinds, by a word."""
    folder = tmp_path_factory.mktemp("reports")
    table = write_csv(folder / "trial.csv", {{"score": LONG}.get(name, name): one for name, one in trial().items()})
    study = ad.datasets.example()
    effects = {
        "curves": ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk"),
        "yes-no": ad.effect(table, treatment="smoker", outcome="ill", confounders=["visits"], rng=0),
        "levels, gaps and long names": ad.effect(
            table, treatment="arm", outcome=LONG, confounders=["age", "site"], missing="impute", rng=0
        ),
    }
    for kind, one in effects.items():
        one.report(folder / f"{kind}.html")
    return {"straight": report, **{kind: (folder / f"{kind}.html").as_uri() for kind in effects}}


@pytest.mark.parametrize("kind", ["straight", "curves", "yes-no", "levels, gaps and long names"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (800, "light"), (1400, "dark")])
def test_no_message_no_sideways_scrolling_no_fault(browser, reports, kind, width, scheme):
    resize(browser, width)
    colours(browser, scheme)
    browser.get(reports[kind])
    assert overflow(browser) == 0
    browser.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true;")
    assert overflow(browser) == 0
    assert axe(browser) == []
    assert browser.get_log("browser") == []


def test_every_control_is_reached_by_keyboard(browser, report):
    browser.get(report)
    browser.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true;")
    assert reached_by_tab(browser) == []


def test_sliders_answer_as_the_library_does(browser, report, effect):
    browser.get(report)
    browser.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true;")
    sliders = browser.find_elements("css selector", "input[data-edge]")
    assert len(sliders) == 13
    for slider in sliders:
        i = slider.get_attribute("data-edge")
        cause, child = slider.get_attribute("aria-label").removeprefix("Stated probability of ").split(" → ")
        for _ in range(3):
            slider.send_keys(Keys.ARROW_LEFT)
        stated = float(slider.get_property("value"))
        output = browser.find_element("css selector", f"[data-answer='{i}']")
        mean, _ = refitted(effect, cause, child, stated)
        assert stated == pytest.approx(effect.posterior.graphs[0].probability(cause, child) - 0.03)
        assert float(output.get_attribute("data-value")) == pytest.approx(mean, abs=1e-9)
        assert float(output.text) == pytest.approx(mean, abs=0.0051)
    browser.find_element("id", "reset").click()
    assert {e.text for e in browser.find_elements("css selector", "[data-answer]")} == {"0.89"}


def test_an_arrow_tells_its_numbers_and_leads_to_its_slider(browser, report):
    browser.get(report)
    arrow = browser.find_element("css selector", "g.edge[data-cause='smoking'][data-effect='risk']")
    browser.execute_script("arguments[0].focus()", arrow)
    told = browser.find_element("id", "edge-facts").text
    assert told.startswith("smoking → risk: probability 50% before the data, 86% after")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label == "Stated probability of smoking → risk"


def test_hostile_names_do_nothing(browser, tmp_path):
    import numpy as np

    x = np.random.default_rng(0).normal(size=(2, 100))
    table = {HOSTILE: x[0], '"><img src=x onerror=alert(1)>': x[0] + x[1]}
    target = tmp_path / "r.html"
    graph = ad.CandidateGraph.from_order(list(table))
    ad.fit(table, graph, rng=0).report(target, treatment=HOSTILE, outcome='"><img src=x onerror=alert(1)>')
    browser.get(target.as_uri())
    assert browser.get_log("browser") == []
    assert HOSTILE in browser.find_element("tag name", "h1").text


def test_the_policy_blocks_what_is_not_the_page_s_own(browser, report, tmp_path):
    from pathlib import Path
    from urllib.parse import unquote, urlparse

    text = Path(unquote(urlparse(report).path)).read_text(encoding="utf-8")
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</body>", "<script>document.title = 'changed'</script></body>"), encoding="utf-8")
    browser.get(changed.as_uri())
    assert browser.title == "Effect of smoking on risk"
    assert "Content Security Policy" in browser.get_log("browser")[0]["message"]


def test_the_python_lines_are_copied(browser, report):
    browser.get(report)
    button = browser.find_element("css selector", "button[data-copy='python']")
    button.send_keys(Keys.ENTER)
    assert button.text == "Copied"
    chosen = browser.execute_script("return window.getSelection().toString();")
    assert chosen.strip() == browser.find_element("id", "python").text.strip()
