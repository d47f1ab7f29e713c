"""One record of an effect, and words, JSON and HTML made from it alone."""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import FrozenInstanceError, asdict, fields, replace

import numpy as np
import pytest

import alldags as ad
from alldags.notes import Note
from alldags.show.json import SCHEMA, effect_dict
from alldags.show.summary import EffectSummary, GivenEffect
from alldags.show.words import effect_text, rows, sentence
from lines import fit
from show import answers
from show.everything import everything

STORED = answers.stored()


@pytest.fixture
def plain() -> EffectSummary:
    return answers.record(STORED["auto"])


def test_every_case_is_written_down():
    assert list(STORED) == list(answers.CASES)


@pytest.mark.parametrize("name", answers.CASES)
def test_what_is_shown_follows_from_the_record_to_the_letter(name):
    entry = dict(STORED[name])
    assert answers.shown(answers.record(entry)) == {key: entry[key] for key in ("screen", "text", "html", "json")}


@pytest.mark.parametrize("name", answers.CASES)
def test_fits_give_the_records_that_are_written_down(name):
    found, expected = _flat(answers.CASES[name]()), _flat(answers.record(STORED[name]))
    numbers = {key for key, value in expected.items() if isinstance(value, float)}
    assert {k: v for k, v in found.items() if k not in numbers} == {
        k: v for k, v in expected.items() if k not in numbers
    }
    for key in numbers:
        assert found[key] == pytest.approx(expected[key], **_tolerance(key, expected)), key


def test_a_part_that_draws_cannot_show_is_not_called_zero(plain):
    label = next(name for name, _ in rows(plain) if "not knowing the graph" in name)
    assert dict(rows(replace(plain, sd_structure=0.0, mean_error=0.01)))[label] == "too small to be seen"
    assert dict(rows(replace(plain, sd_structure=0.0, mean_error=0.0)))[label] == "0"


def _flat(summary):
    """Return the fields, with the numbers of records inside it under names of their own."""
    fields = asdict(summary)
    for item in fields.pop("adjusted"):
        fields |= {f"{item['name']}_chance": item["probability"], f"{item['name']}_raised": item["raised"]}
    fields |= {f"{item['name']}_r2": item["r2"] for item in fields.pop("explained")}
    for prefix, name in (("plain", "least_squares"), ("alone", "least_squares_alone"), ("given", "given_effect")):
        fields |= {f"{prefix}_{key}": value for key, value in (fields.pop(name) or {}).items()}
    return fields | dict(_leaves("hidden", fields.pop("hidden", None)))


def _leaves(name, value):
    """Yield what is inside records and lists, each under its whole name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name}_{key}", item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(f"{name}_{place}", item)
    else:
        yield name, value


def _tolerance(key, record):
    """Rounding differs between machines: a sampler then takes other turns, and a few draws other values."""
    if key.endswith("_error"):
        return {"rel": 0.5, "abs": 1e-12}
    if key.removeprefix("given_") in ("low", "high"):
        return {"abs": 6 * record[f"{key.removeprefix('given_')}_error"] + 6 * record["mean_error"]}
    if key.startswith("probability") or key.endswith("_chance"):
        return {"rel": 1e-3, "abs": 6 * (0.5 / math.sqrt(20_000) + record["probability_no_effect_error"])}
    if record["mean_error"] and key.startswith("sd"):
        return {"rel": 6 / math.sqrt(2 * 1000)}  # of a standard deviation from 1,000 stored parent sets
    return {"rel": 1e-4, "abs": 1e-6 + 6 * record["mean_error"]}


@pytest.fixture(scope="module")
def effect():
    study = ad.datasets.example()
    return fit(study.table, study.graph, prior=ad.Prior.v01(), rng=0).effect("smoking", "risk")


def test_an_effect_shows_its_summary(effect):
    shown = answers.shown(effect.summary())
    assert str(effect).split("\n") == shown["screen"]
    assert effect._repr_html_() == shown["html"]
    assert effect.to.dict() == shown["json"]
    assert effect.to.dict()["schema"] == SCHEMA == "alldags.effect/2"


def test_summary_at_another_level(effect):
    summary = effect.summary(level=0.8)
    assert (summary.low, summary.high) == effect.interval(0.8)
    assert (summary.low_error, summary.high_error) == effect.uncertainty.interval_error(0.8)
    assert "(80% interval 0.72 to 0.99" in sentence(summary)
    assert dict(rows(summary))["80% interval"].startswith("0.72 to 0.99")
    assert effect_dict(summary)["interval"]["level"] == 0.8
    with pytest.raises(ad.AlldagsError, match="strictly between 0 and 1, got 80"):
        effect.summary(level=80)


@pytest.mark.parametrize("level", [0.5, 0.57, 0.9, 0.99, 0.999])
def test_levels_are_written_as_people_write_them(plain, level):
    name = next(key for key, _ in rows(replace(plain, level=level)) if key.endswith("interval"))
    assert name == {0.5: "50", 0.57: "57", 0.9: "90", 0.99: "99", 0.999: "99.9"}[level] + "% interval"


def test_a_summary_is_frozen_and_plain(effect):
    summary = effect.summary()
    with pytest.raises(FrozenInstanceError):
        summary.mean = 1.0  # type: ignore[misc]
    for name, value in asdict(summary).items():
        assert type(value) in (str, float, int, bool, tuple, dict, type(None)), name
        assert not isinstance(value, np.generic), name
    assert json.loads(json.dumps(asdict(summary)))["treatment"] == "smoking"
    assert summary == effect.summary()


def test_every_field_is_documented():
    listed = re.findall(r"^(\w+(?:, \w+)*)\n    ", inspect.getdoc(EffectSummary), flags=re.MULTILINE)
    assert [name for line in listed for name in line.split(", ")] == [field.name for field in fields(EffectSummary)]


# -- what is said when -----------------------------------------------------------------------------------------------


def test_monte_carlo_error_and_bound_stand_beside_the_mean(plain):
    summary = replace(plain, mean_error=0.0123, mean_bound=4e-6)
    assert rows(summary)[0] == (
        "posterior mean",
        "0.86 ± 0.01 Monte Carlo (sets of causes left out: at most ± 4e-06)",
    )


def test_a_mean_outside_of_its_interval_is_explained(plain):
    summary = replace(plain, low=0.0, high=0.4, probability_no_effect=0.9)
    assert "(The mean lies outside because most of the probability sits on no effect.) The pro" in sentence(summary)
    assert "lies outside" not in sentence(plain)


@pytest.mark.parametrize(
    ("probability", "error", "words"),
    [(0.0, 0.0, "below 0.1%"), (0.0, 0.01, "below 0.1%"), (1.0, 0.01, "above 99.9%"), (0.238, 0.01, "23.8%")],
)
def test_sampled_probabilities_of_no_effect_are_never_certain(plain, probability, error, words):
    summary = replace(plain, probability_no_effect=probability, probability_no_effect_error=error, prior_no_effect=None)
    assert f"no effect at all is {words}." in sentence(summary)
    value = dict(rows(summary))["P(no effect)"]
    assert value == words + (" (± 1% Monte Carlo)" if error else "")


def test_engines_without_a_notion_of_a_graph_say_nothing_about_graphs(plain):
    summary = replace(plain, probability_no_effect=None, sd_structure=None, sd_coefficients=None, scope="as a whole")
    text = effect_text(summary)
    assert ", as a whole." in text
    assert "P(no effect)" not in text
    assert "graph" not in text


def test_json_has_no_infinity(plain):
    record = effect_dict(replace(plain, sd=math.inf, sd_coefficients=math.inf))
    assert record["sd"] is None
    assert record["sd_coefficients"] is None
    json.dumps(record, allow_nan=False)
    assert dict(rows(replace(plain, sd=math.inf)))["standard deviation"] == "inf"


def test_names_and_notes_are_escaped_in_html(plain):
    html = answers.shown(replace(plain, treatment="<b>", notes=(Note("a & b"),)))["html"]
    assert "Raising &lt;b&gt; by one unit" in html
    assert "<p><small>note: a &amp; b</small></p>" in html


def test_an_interval_of_nothing_but_zero_is_not_given_alone(plain):
    given = GivenEffect(0.4, 0.1, 0.7)
    text = sentence(replace(plain, mean=0.004, low=0.0, high=0.0, probability_no_effect=0.99, given_effect=given))
    assert text.startswith(
        "Most probably smoking has no effect on risk: the probability of none at all is 99.0% (before"
    )
    assert text.endswith("If there is one, it is 0.40 (0.10 to 0.70); averaged over both, it is 0.00.")
    assert "interval" not in text


def test_the_effect_given_that_there_is_one_is_said_where_it_differs(plain):
    given = GivenEffect(1744.0, 489.0, 2986.0)
    wide = replace(plain, mean=1177.0, sd=912.0, low=0.0, high=2863.0, probability_no_effect=0.325, given_effect=given)
    assert "changes risk by 1,177 on average (95% interval 0 to 2,863)" in sentence(wide)
    assert sentence(wide).endswith("If there is one, it is 1,744 (489 to 2,986).")
    assert dict(rows(wide))["if there is an effect"] == "1,744 (489 to 2,986)"
    assert "If there is one" not in sentence(replace(wide, probability_no_effect=0.0001))


def test_what_was_assumed_is_worded_as_assumed(plain):
    sure = replace(plain, prior_no_effect=0.0, probability_no_effect=0.0)
    assert effect_dict(sure)["probability_no_effect"] is None
    assert effect_dict(plain)["probability_no_effect"] == plain.probability_no_effect
    assert sentence(sure).endswith("Whether there is an effect was not asked: only its size was estimated.")
    assert dict(rows(sure))["P(no effect)"] == "not asked"


def test_a_treatment_of_zeros_and_ones_goes_from_one_to_the_other(effect):
    assert not effect.summary().is_binary
    asked = effect.posterior.effect("sex", "risk")
    assert asked.summary().is_binary
    assert everything(asked).startswith("Changing sex from 0 to 1 changes risk by")


def test_given_an_effect_is_the_rest_of_the_average(effect):
    asked = effect.posterior.effect("sex", "exercise")
    summary = asked.summary()
    assert summary.given_effect.mean * (1 - summary.probability_no_effect) == pytest.approx(summary.mean)
    off = asked.uncertainty.sample.draws[asked.uncertainty.sample.draws != 0.0]
    ends = summary.given_effect.low, summary.given_effect.high
    np.testing.assert_allclose(ends, np.quantile(off, [0.025, 0.975]), atol=0.02 * off.std())


def test_r2_is_that_of_least_squares_with_many_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = 2.0 * x + rng.normal(size=4000)
    found = fit({"x": x, "y": y}, ad.CandidateGraph.from_order(["x", "y"])).effect("x", "y").summary()
    assert [item.name for item in found.explained] == ["y"]
    assert found.explained[0].r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-3)


def test_a_fixed_slab_that_decides_on_no_effect_is_named():
    study = ad.datasets.example()
    fixed = fit(study.table, study.graph, prior=ad.Prior.v01(), rng=0).effect("sex", "exercise")
    assert 0.03 < fixed.probability_no_effect < 0.97
    (note,) = (text for text in fixed.notes if "how large effects are expected to be" in text)
    promised = float(re.search(r"up to ([\d.]+)%", note.text).group(1)) / 100
    wide = fit(study.table, study.graph, prior=ad.Prior(slab_variance=10.0, link=0.0), rng=0)
    assert fixed.probability_no_effect < wide.effect("sex", "exercise").probability_no_effect <= promised + 0.01
    learned = fit(study.table, study.graph, rng=0).effect("sex", "exercise")
    assert not any("how large effects are expected to be" in text for text in learned.notes)
