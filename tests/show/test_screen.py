"""One screen: whatever the effect, at most 14 lines of 80 columns, the worst first, and where more is."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alldags as ad
from alldags.errors import AlldagsWarning
from alldags.notes import SEVERITIES, Note
from alldags.show.correlated import CorrelatedSummary, InstrumentSummary
from alldags.show.hidden import hidden_short
from alldags.show.json import effect_dict
from alldags.show.screen import MOST_LINES, screen_text
from alldags.show.sensitivity import SensitivitySummary, hidden_sentence, sensitivity_text
from alldags.show.summary import Adjustment, GivenEffect, MissingShare
from alldags.show.words import effect_text
from lines import fit
from results.test_effect_contract import STUDIES, fitted, study, table
from show import answers

STORED = {name: answers.record(entry) for name, entry in answers.stored().items()}
PLAIN = STORED["default prior"]


def check(text: str) -> None:
    lines = text.split("\n")
    assert len(lines) <= MOST_LINES, text
    assert max(map(len, lines)) <= 80, text
    assert "…" not in lines[-1]
    assert lines[-1].startswith("More: ")


@pytest.mark.parametrize("name", STUDIES)
def test_every_kind_of_effect_is_printed_on_one_screen(name):
    check(str(study(name)))


@pytest.mark.parametrize("levels", [3, 12])
def test_levels_of_a_category_are_printed_on_one_screen(levels):
    rng = np.random.default_rng(levels)
    arm = np.array([f"a level with quite a long name, number {i}" for i in rng.integers(0, levels, 400)])
    graph = ad.CandidateGraph.from_order(["arm", "outcome"])
    effect = fit({"arm": arm, "outcome": rng.standard_normal(400)}, graph, rng=0).effect("arm", "outcome")
    check(str(effect))
    assert ("more levels" in str(effect)) is (levels > 5)
    check(effect.contrasts().text(command=True))
    assert "--contrast" in effect.contrasts().text(command=True)


def test_fixed_effects_and_sites_are_printed_on_one_screen():
    check(str(fitted(fixed_effects="site")))


names = st.text("abcdefgh_ xyz\t-", min_size=1, max_size=60)
chances = st.sampled_from([None, 0.0, 1e-5, 0.2, 0.87, 0.995, 1.0])
sizes = st.floats(-1e7, 1e7, allow_nan=False)


@st.composite
def summaries(draw):
    plain = draw(st.sampled_from(list(STORED.values())))
    low, mean, high = sorted(draw(st.tuples(sizes, sizes, sizes)))
    notes = st.builds(
        Note, st.text("abc ,;:()", max_size=400).map(lambda text: text + "x"), st.sampled_from(SEVERITIES)
    )
    return replace(
        plain,
        treatment=draw(names),
        outcome=draw(names),
        mean=mean,
        low=low,
        high=high,
        sd=max(high - low, 1e-3) / 4,
        given_effect=draw(st.sampled_from([None, GivenEffect(mean, low, high)])),
        probability_no_effect=draw(chances),
        prior_no_effect=draw(chances),
        notes=tuple(draw(st.lists(notes, max_size=6))),
        adjusted=tuple(Adjustment(name, 0.9, 0.5) for name in draw(st.lists(names, max_size=30))),
        measure=draw(st.sampled_from(["", "risk", "rate", "mean", "log-odds"])),
        levels=draw(st.sampled_from([None, (0.1, 0.3)])),
        contrast=draw(st.sampled_from([None, (0.0, 1.0), (123456.7, -98765.4)])),
        treatment_words=draw(st.sampled_from([None, ("a long word for no", "another long word for yes")])),
        shapes=draw(st.sampled_from([(), (("straight", 0.97), ("common", 0.03))])),
    )


@given(summaries(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_whatever_is_said_stays_on_one_screen(summary, command):
    check(screen_text(summary, command=command))


# -- what comes first ------------------------------------------------------------------------------------------------


def test_the_worst_notes_are_shown_first_and_at_most_three():
    notes = [Note("c", "for the record"), Note("b", "check"), *(Note(f"a{i}", "changes the answer") for i in range(2))]
    text = screen_text(replace(PLAIN, notes=(*notes, Note("d", "check"))))
    assert [line for line in text.split("\n") if line.startswith("!")] == [
        "! a0",
        "! a1",
        "! 2 more to read before you use the number: effect.notes",
    ]
    assert "effect.notes (5)" in text


def test_three_notes_that_fit_are_all_shown_short_ones_in_their_place():
    notes = [Note("a" * 300, "changes the answer", short="in short"), Note("b", "check"), Note("c", "check")]
    text = screen_text(replace(PLAIN, notes=tuple(notes)))
    assert [line for line in text.split("\n") if line.startswith("!")] == ["! in short", "! b", "! c"]


def test_a_long_note_ends_with_a_clause_or_an_ellipsis():
    long = "63 of 1,629 rows were dropped for missing values in column 'wt82_71' (63); " + "and so on " * 30
    lines = screen_text(replace(PLAIN, notes=(Note(long, "check"),))).split("\n")
    assert any(line.endswith("...") for line in lines)
    narrow = screen_text(replace(PLAIN, notes=tuple(Note(f"{i} {long}", "check") for i in range(3)))).split("\n")
    assert "! 1 63 of 1,629 rows were dropped for missing values in column 'wt82_71' (63)" in narrow


def test_an_effect_in_doubt_leads_with_what_it_is_if_there_is_one():
    doubt = replace(
        PLAIN, mean=0.1, low=0.0, high=0.9, probability_no_effect=0.87, given_effect=GivenEffect(0.77, 0.2, 1.3)
    )
    text = screen_text(doubt)
    assert text.startswith("If smoking acts on risk at all (13.0%), raising smoking by one unit raises\nrisk by 0.77")
    rows = [line.split()[0] for line in text.split("\n") if line.startswith("  ")]
    assert rows[:2] == ["effect", "averaged"]
    assert "no effect at all           87.0% (19.7% before); small effects look the same" in text
    for sure in (0.001, 0.995):
        assert "If smoking" not in screen_text(replace(doubt, probability_no_effect=sure))


def test_what_is_almost_surely_none_says_so():
    text = screen_text(replace(PLAIN, probability_no_effect=0.996)).replace("\n", " ")
    assert text.startswith("Most probably smoking has no effect on risk, or one too small to see: the probability of")


def test_which_way_is_said_only_where_the_interval_leaves_no_doubt():
    assert "raises risk by 0.89" in screen_text(PLAIN)
    assert "lowers risk by 0.89" in screen_text(replace(PLAIN, mean=-0.89, low=-1.1, high=-0.7))
    assert "changes risk by -0.89" in screen_text(replace(PLAIN, mean=-0.89, low=-2, high=0.7))


def test_shares_of_the_variance_are_those_of_the_record():
    share = round(100 * (PLAIN.sd_structure / PLAIN.sd) ** 2)
    assert f"uncertainty from           500 rows ({100 - share}%), which causes act ({share}%)" in screen_text(PLAIN)
    assert "500 rows; hardly from which causes act" in screen_text(replace(PLAIN, sd_structure=0.001))
    halves = replace(PLAIN, sd_hidden=PLAIN.sd * 0.5**0.5, sd_structure=0.0)
    assert "500 rows (50%), a hidden cause (50%); hardly from which causes act" in " ".join(screen_text(halves).split())
    assert "500 rows and which causes act" in screen_text(replace(PLAIN, sd_structure=None))
    assert "uncertainty from           500 rows\n" in screen_text(replace(PLAIN, log10_graphs=0.0))


def test_rows_without_the_outcome_are_not_counted_among_those_behind_the_answer():
    short = replace(PLAIN, rows_outcome=480.0)
    assert "480 of 500 rows (71%)" in screen_text(short)
    assert " 480 of 500 computed 3 regressions" in " ".join(effect_text(short).split())
    table = dict(ad.datasets.example().table)
    table["risk"] = np.where(np.arange(500) < 20, np.nan, table["risk"])
    study = {"treatment": "smoking", "outcome": "risk", "confounders": ["age"], "terms": None, "rng": 0}
    summary = ad.effect(table, **study).summary()
    assert (summary.rows, summary.rows_outcome) == (500, 480)
    assert effect_dict(summary)["n_outcome"] == 480
    assert ad.effect(ad.datasets.example().table, **study).summary().rows_outcome is None


def test_covariates_of_all_graphs_and_of_some_are_told_apart():
    sure, some = Adjustment("age", 0.99, 0.0), Adjustment("sex", 0.3, 0.0)
    never = Adjustment("hair", 0.01, 0.0)
    said = {
        (sure,): "Adjusted for age; ",
        (sure, some): "Adjusted for age, in some graphs for sex; ",
        (some, never): "Adjusted in some graphs for sex; ",
        (never,): "Adjusted for none of 1 candidates; ",
    }
    for adjusted, words in said.items():
        assert words in screen_text(replace(PLAIN, adjusted=adjusted))
    many = tuple(Adjustment(f"covariate_{i}", 0.99 if i < 9 else 0.3, 0.0) for i in range(20))
    lines = screen_text(replace(PLAIN, adjusted=many)).split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("Adjusted"))
    assert lines[first] == "Adjusted for covariate_0, covariate_1 and 7 more, in some graphs for 11 more."
    assert lines[first + 1] == "65,536 graphs averaged."


def test_a_small_effect_looks_like_none():
    """The clause beside the probability of no effect is true: 2% of a standard deviation, 800 rows."""
    x, noise = np.random.default_rng(0).standard_normal((2, 800))
    table = {"x": x, "y": 0.02 * x + noise}
    study = {"treatment": "x", "outcome": "y", "terms": None, "rng": 0}
    effect = ad.effect(table, **study, probability=0.5)
    assert effect.probability_no_effect > 0.7
    assert "small effects look the same" in str(effect)
    assert "look the same" not in str(ad.effect(table, **study))


def test_shapes_that_were_averaged_are_named():
    for likely, said in ((0.97, "no curves needed (97% probable)"), (0.999, "no curves needed")):
        assert said in screen_text(replace(PLAIN, shapes=(("straight", likely), ("arms", 1 - likely))))
    assert "with and without curves" in screen_text(replace(PLAIN, shapes=(("straight", 0.6), ("curves", 0.4))))
    assert "%." not in screen_text(replace(PLAIN, shapes=(("straight", 1.0),))).split("Adjusted")[1].split("\n")[0]


CORRELATED = CorrelatedSummary(
    "smoking", "risk", 1.0, 1.0, 0.3, -0.1, 0.6, -0.81, 0.81, 0.5, 0.93, 0.93, 20.0,
    (InstrumentSummary("tax", 0.1, 20.0, 0.93, 0.9),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"is_randomized": True}, "Hidden causes: none, as smoking was randomised."),
        ({"correlated": (CORRELATED,)}, "one of smoking and risk, errors correlated 0.30 (-0.10 to 0.60); the effect"),
        ({"correlated": (replace(CORRELATED, identified_if_hidden=0.0),)}, "of which the data say nothing."),
        (
            {"hidden": None, "has_sensitivity": True},
            "Hidden causes: assumed none; effect.sensitivity() says how strong one must be.",
        ),
        ({"hidden": None, "has_sensitivity": False}, "Hidden causes: assumed none."),
        ({"has_path": False}, ""),
    ],
)
def test_one_line_on_hidden_causes(change, said):
    found = hidden_short(replace(PLAIN, **change))
    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize(
    ("share", "hits", "said"),
    [
        (0.31, ("x", "y"), "one must explain 31% of both to reach zero (age: <1%, 8%)."),
        (0.31, ("x", "m", "y"), "one must explain 31% of all 3 to reach zero (age: <1%, 8%)."),
        (0.0, ("x", "y"), "assumed none; the 95% interval holds zero without one."),
        (1.0, ("x", "y"), "none is strong enough to make the 95% interval reach zero."),
    ],
)
def test_how_strong_a_hidden_cause_must_be(share, hits, said):
    found = SensitivitySummary(
        treatment="x", outcome="y", hits=hits, level=0.95, share_mean=0.5, share_interval=share, covariate="age",
        covariate_treatment=0.001, covariate_outcome=0.08,
    )  # fmt: skip
    assert hidden_short(replace(PLAIN, hidden=found)) == f"Hidden causes: {said}"


@pytest.mark.parametrize(
    ("scale", "odds", "said"),
    [
        ("inverse odds", 1.83, "to reach zero, one must explain 31% of risk and change the odds of smoking 1.8-fold."),
        ("weights", None, "one must explain 31% of both to reach zero."),
    ],
)
def test_how_strong_a_hidden_cause_of_what_is_no_straight_line_must_be(scale, odds, said):
    found = SensitivitySummary(
        treatment="x", outcome="y", hits=("x", "y"), level=0.95, share_mean=0.5, share_interval=0.31,
        treatment_scale=scale, odds_interval=odds,
    )  # fmt: skip
    assert hidden_short(replace(PLAIN, hidden=found)) == f"Hidden causes: {said}"


@pytest.mark.parametrize(
    ("mean", "this", "other"), [(1.0, "the same direction", "opposite directions"), (-1.0, "opposite", "the same")]
)
def test_a_cause_of_either_direction_is_spoken_of(mean, this, other):
    found = SensitivitySummary(
        treatment="x", outcome="y", hits=("x", "y"), level=0.95, share_mean=0.5, share_interval=0.31, mean=mean
    )
    text = " ".join(sensitivity_text(found).split())
    assert f"a cause that acts on x and y in {this}" in text
    assert f"one that acts on them in {other}" in text


def test_a_covariate_that_leaves_nothing_is_no_benchmark():
    found = SensitivitySummary(
        treatment="x", outcome="y", hits=("x", "y"), level=0.95, share_mean=0.5, share_interval=0.31, covariate="age",
        covariate_treatment=0.9999, covariate_outcome=0.3, treatment_scale="inverse odds",
    )  # fmt: skip
    assert "age, is so strong that a hidden cause like it would leave nothing to estimate" in hidden_sentence(found)


def test_a_yes_no_outcome_has_a_probability_unless_it_is_called_a_risk():
    job = fit({**table(), "job": table(outcome="ill")["outcome"]}, _graph("job"), rng=0).effect("treat", "job")
    assert "the probability of job" in str(job)
    assert "risk" not in str(job).lower()
    named = fit({**table(), "risk": table(outcome="ill")["outcome"]}, _graph("risk"), rng=0).effect("treat", "risk")
    assert "raises risk by" in str(named) or "changes risk by" in str(named)
    assert "risk of risk" not in str(named)


def _graph(outcome):
    return ad.CandidateGraph.from_tiers([["age", "income"], ["treat"], [outcome]])


def test_details_have_what_the_screen_has_no_room_for(capsys):
    study("straight").details()
    text = capsys.readouterr().out
    assert text.count("\n") > MOST_LINES
    assert all(words in text for words in ("standard deviation", "P(effect > 0)", "note: "))
    fitted(table(treat="arm")).details()
    assert "contrasts() has all pairs" in capsys.readouterr().out


def test_details_are_said_once_however_they_are_asked_for(capsys):
    print(study("straight").details())
    printed = capsys.readouterr().out
    found = study("straight").details()
    assert capsys.readouterr().out == f"{found.text}\n"
    assert printed == f"{found.text}\n\n"
    assert (str(found), repr(found), found._ipython_display_()) == ("", "", None)


# -- stated odds -----------------------------------------------------------------------------------------------------


def _weak(probability):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(100)
    table = {"x": x, "y": 0.15 * x + rng.standard_normal(100)}
    return fit(table, ad.CandidateGraph.from_edges({("x", "y"): probability}), rng=0).effect("x", "y")


def test_even_odds_that_pull_the_estimate_to_zero_are_named_and_certain_edges_are_not():
    effect = _weak(0.5)
    (note,) = (note for note in effect.notes if "pulls the estimate" in note)
    draws = effect.draws(20_000, rng=0)
    there = draws[draws != 0.0]
    assert there.mean() - draws.mean() > 0.5 * there.std()
    assert note.severity == "check"
    assert "the stated 50.0% for x -> y" in note
    assert "! the stated 50.0%" in str(effect)
    assert "graph.with_edge('x', 'y', 1.0)" in note
    assert not any("pulls" in note for note in _weak(1.0).notes)
    assert not any("pulls" in note for note in _weak(0.99).notes)


# -- a number that is read without its notes -------------------------------------------------------------------------


def _dropped():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    y = x + rng.standard_normal(200)
    table = {"x": np.where(rng.random(200) < 0.2, np.nan, x), "y": y}
    graph = ad.CandidateGraph.from_edges({("x", "y"): 1.0})
    return fit(table, graph, missing="drop", rng=0).effect("x", "y")


@pytest.mark.filterwarnings("always::alldags.errors.AlldagsWarning")
@pytest.mark.parametrize("read", [lambda e: e.mean, lambda e: e.interval(0.9)])
def test_a_number_read_without_the_note_that_changes_it_warns_once(read):
    effect = _dropped()
    with pytest.warns(AlldagsWarning, match=r"x -> y: \d+ of 200 rows were dropped") as found:
        read(effect)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(effect)
        assert effect.interval()


@pytest.mark.filterwarnings("error::alldags.errors.AlldagsWarning")
@pytest.mark.parametrize("show", [str, lambda e: e.summary(), lambda e: e._repr_html_(), lambda e: e.to.dict()])
def test_nothing_is_warned_of_after_showing(show):
    effect = _dropped()
    show(effect)
    assert effect.mean


@pytest.mark.filterwarnings("error::alldags.errors.AlldagsWarning")
def test_nothing_is_warned_of_where_no_note_changes_the_answer():
    example = ad.datasets.example()
    assert fit(example.table, example.graph, rng=0).effect("smoking", "risk").mean


def crowded(**changes):
    """Return a summary of a yes/no treatment with long names, whose rows need two lines, and three notes to read."""
    hidden = replace(PLAIN.hidden, odds_mean=3.0, odds_interval=2.5, covariate_odds=1.5)
    missing = MissingShare(imputations=20, sd=0.001, share=0.0, error=0.0)
    notes = tuple(Note(f"the {place} thing to know", "changes the answer") for place in ("first", "second", "third"))
    long = tuple(Adjustment(f"a_rather_long_name_{i}", p, 0.0) for i, p in enumerate((0.99, 0.99, 0.3, 0.2)))
    said = {"notes": notes, "hidden": hidden, "missing": missing, "rows_outcome": 1566.0, "rows": 1629.0}
    shapes = (("straight", 0.5), ("curves", 0.5))
    return replace(PLAIN, **{"adjusted": long, "shapes": shapes, **said, **changes})


def test_where_room_is_short_it_is_said_that_there_are_more_notes():
    text = screen_text(crowded())
    assert "the first thing to know" in text
    assert "2 more to read before you use the number" in text
    assert "hardly from missing values" in " ".join(screen_text(crowded(notes=())).split())
    assert "More: --details (3 notes), --json" in screen_text(crowded(), command=True)
    assert "More: --details, --json" in screen_text(crowded(notes=()), command=True)


def test_names_of_what_is_in_all_graphs_come_before_those_of_some():
    assert "Adjusted for a_rather_long_name_0 and 1 more" in screen_text(crowded()).replace("…", "_")


def test_notes_are_printed_one_below_the_other():
    study = ad.datasets.example()
    notes = ad.fit({**study.table, "site": [1] * 500}, study.graph, terms=None).effect("smoking", "risk").notes
    assert str(notes) == "for the record\n- columns not in the graph were ignored: 'site'"
    assert str(notes[:0]) == "()"
