"""Fixed effects: an intercept for each level, as if dummies were certain causes of everything."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import alldags as ad
from alldags.data.rows import RowGroups
from alldags.errors import AlldagsError, DataError
from commands import command
from lines import fit
from show.everything import everything

NAMES = ("w", "x", "m", "y")
ORDER = ad.CandidateGraph.from_order(NAMES, 0.5)
CERTAIN = ad.CandidateGraph.from_order(NAMES, 1.0)
WIDE = ad.Prior(slab_variance=1e12)
FACTORS = (["state"], ["state", "year"])


def panel(seed: int = 0, rows: int = 400) -> dict[str, Any]:
    """Return an unbalanced panel of 25 states and 8 years, states named in words, with all that can be said of rows."""
    rng = np.random.default_rng(seed)
    state, year = rng.integers(0, 25, rows), rng.integers(0, 8, rows)
    level, step = 2.0 * rng.standard_normal((2, 25))[:, state], rng.standard_normal(8)[year]
    w = level[0] + rng.standard_normal(rows)
    x = 0.5 * w + level[1] + step + rng.standard_normal(rows)
    m = 0.6 * x + level[0] + rng.standard_normal(rows)
    y = 0.4 * m + 0.3 * w - level[1] - step + rng.standard_normal(rows)
    said = {"count": rng.integers(0, 4, rows).astype(float), "chance": rng.gamma(2.0, size=rows)}
    said["target"] = np.where(rng.random(rows) < 0.3, "m", "").astype(object)
    names = np.array([f"state {i}" for i in range(25)], dtype=object)[state]
    return {"w": w, "x": x, "m": m, "y": y, "state": names, "year": 2000 + year, **said}


def dummies(table: dict[str, Any], factors: list[str]) -> np.ndarray:
    codes = [np.unique(table[name], return_inverse=True)[1] for name in factors]
    return np.column_stack([np.eye(code.max() + 1)[code] for code in codes])


def within(table: dict[str, Any], factors: list[str], weight: Any = None) -> ad.Moments:
    """Return moments that have the scatter within levels, by least squares on dummies, and its degrees of freedom."""
    values = np.column_stack([table[name] for name in NAMES])
    weight = np.ones(len(values)) if weight is None else weight
    root = np.sqrt(weight)[:, None]
    design = dummies(table, factors)[weight > 0] * root[weight > 0]
    target = (values * root)[weight > 0]
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    n = float(weight.sum()) - np.linalg.matrix_rank(design) + 1
    return ad.Moments(n, weight @ values / weight.sum(), left.T @ left, NAMES)


def least_squares(table: dict[str, Any], factors: list[str], weight: Any = None) -> tuple[float, float]:
    """Return the coefficient of x in y on x, w and all dummies, and the square of its error over noise variance."""
    design = np.column_stack([table["x"], table["w"], dummies(table, factors)])
    root = np.sqrt(np.ones(len(design)) if weight is None else weight)
    found = np.linalg.lstsq(design * root[:, None], table["y"] * root, rcond=None)[0]
    return float(found[0]), float(np.sum((root * (table["y"] - design @ found)) ** 2))


# -- equal to dummies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("weights", [None, "count", "chance"])
def test_certain_edges_under_a_wide_slab_are_least_squares_with_dummies(factors, weights):
    table = panel()
    graph = ad.CandidateGraph.from_order(["w", "x", "y"], 1.0)
    kind = {"weights": weights, "weight_kind": "sampling" if weights == "chance" else "frequency"} if weights else {}
    effect = fit(table, graph, prior=WIDE, fixed_effects=factors, **kind).effect("x", "y")
    weight = None if weights is None else table[weights]
    assert effect.mean == pytest.approx(least_squares(table, factors, weight)[0], abs=1e-8)


@pytest.mark.parametrize("factors", FACTORS)
def test_the_spread_has_the_degrees_of_freedom_that_levels_leave(factors):
    table = panel()
    graph = ad.CandidateGraph.from_order(["w", "x", "y"], 1.0)
    effect = fit(table, graph, prior=WIDE, fixed_effects=factors).effect("x", "y")
    all_of_it = dummies(table, factors)
    design = np.column_stack([table["x"], table["w"], all_of_it])
    inverse = np.linalg.pinv(design.T @ design)[0, 0]
    freedom = len(design) - np.linalg.matrix_rank(all_of_it)
    expected = math.sqrt(inverse * least_squares(table, factors)[1] / (freedom - 2))
    assert effect.sd == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("engine", ["auto", "exact", "certified", "k2", "full", "vb", "em"])
def test_every_engine_has_the_answer_of_moments_within_levels(factors, engine):
    table = panel()
    found = fit(table, ORDER, fixed_effects=factors, engine=engine, rng=0).effect("x", "y")
    expected = fit(within(table, factors), ORDER, engine=engine, rng=0).effect("x", "y")
    assert found.mean == pytest.approx(expected.mean, rel=1e-7)
    assert found.sd == pytest.approx(expected.sd, rel=1e-6, abs=1e-12)
    found, expected = (effect.probability_no_effect or 0.0 for effect in (found, expected))  # vb and em have none
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_several_graphs_and_open_directions_have_the_answer_of_moments_within_levels():
    table, factors = panel(), ["state", "year"]
    tiers = ad.CandidateGraph.from_tiers([["w"], ["x", "m"], ["y"]], 0.5, within=[None, 0.5, None])
    for graphs in ([ORDER, ORDER.without_edge("x", "y")], tiers):
        found = fit(table, graphs, fixed_effects=factors, rng=0)
        expected = fit(within(table, factors), graphs, rng=0)
        assert found.graph_probabilities == pytest.approx(expected.graph_probabilities, rel=1e-6)
        assert found.effect("x", "y").mean == pytest.approx(expected.effect("x", "y").mean, rel=1e-6)
        assert found.effect("x", "y").sd == pytest.approx(expected.effect("x", "y").sd, rel=1e-6)


def test_whole_weights_are_repeated_rows():
    table = panel()
    rows = np.repeat(np.arange(len(table["x"])), table["count"].astype(int))
    long = {name: column[rows] for name, column in table.items()}
    found = fit(table, ORDER, fixed_effects=["state", "year"], weights="count", rng=0).effect("x", "y")
    expected = fit(long, ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y")
    assert (found.mean, found.sd) == pytest.approx((expected.mean, expected.sd), rel=1e-10)


def test_rows_in_which_a_child_was_set_are_left_out_of_its_regression_and_levels():
    table, factors = panel(), ["state", "year"]
    posterior = fit(table, ORDER, fixed_effects=factors, interventions="target", rng=0)
    free = table["target"] == ""
    rows = {name: column[free] for name, column in table.items()}
    own = posterior.workings.data.of("m")
    expected = within(rows, factors)
    assert own.n == expected.n - 1
    scale = posterior.workings.data.scale
    np.testing.assert_allclose(own.scatter * np.outer(scale, scale), expected.scatter, rtol=1e-9, atol=1e-9)
    whole = posterior.workings.data.of("y")
    np.testing.assert_allclose(whole.scatter * np.outer(scale, scale), within(table, factors).scatter, rtol=1e-9)


def test_lots_and_dropped_rows_meet_fixed_effects():
    table, factors = panel(), ["state", "year"]
    found = fit(table, ORDER, fixed_effects=factors, randomized="x", rng=0).effect("x", "y")
    cut = fit(table, ORDER.without_edge("w", "x"), fixed_effects=factors, rng=0).effect("x", "y")
    assert found.mean == pytest.approx(cut.mean, rel=1e-12)
    hole, nowhere = np.arange(400) % 9 == 0, np.arange(400) % 7 == 0
    state = np.where(nowhere, None, table["state"])
    gaps = table | {"w": np.where(hole, np.nan, table["w"]), "state": state}
    kept = {name: column[~hole & ~nowhere] for name, column in table.items()}
    found = fit(gaps, ORDER, fixed_effects=factors, missing="drop", rng=0)
    expected = fit(kept, ORDER, fixed_effects=factors, rng=0)
    assert found.effect("x", "y").mean == pytest.approx(expected.effect("x", "y").mean, rel=1e-12)
    dropped = int((hole | nowhere).sum())
    words = f"{dropped} of 400 rows were dropped for missing values in columns 'state' (58), 'w' (45)"
    assert any(words in note for note in found.notes)


def test_completed_tables_are_each_taken_within_levels():
    table = panel()
    both = [table, table | {"w": table["w"] + 0.1 * np.sin(np.arange(400))}]
    found = fit(ad.Imputed(both), ORDER, fixed_effects="state", rng=0).effect("x", "y").mean
    each = [fit(one, ORDER, fixed_effects="state", rng=0).effect("x", "y").mean for one in both]
    assert found == pytest.approx(np.mean(each), rel=1e-3)


def test_which_level_of_a_category_is_the_reference_does_not_matter():
    table = panel()
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 4, 400)
    graph = ad.CandidateGraph.from_tiers([["kind", "w"], ["x"], ["y"]], 0.5).without_edge("kind", "x")
    table["y"] = table["y"] + np.array([0.0, 0.5, -0.5, 0.2])[kind]
    answers = [
        fit(table | {"kind": np.array(list(words))[kind]}, graph, fixed_effects="state", rng=0).effect("x", "y")
        for words in ("abcd", "dcba", "badc")
    ]
    for one in answers[1:]:
        assert one.mean == pytest.approx(answers[0].mean, rel=1e-9)
        assert one.sd == pytest.approx(answers[0].sd, rel=1e-9)


# -- what does not matter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_for_each_level_changes_nothing(seed):
    table, rng = panel(seed), np.random.default_rng(seed)
    state, year = (np.unique(table[name], return_inverse=True)[1] for name in ("state", "year"))
    moved = {name: table[name] + 9 * rng.standard_normal(25)[state] + rng.standard_normal(8)[year] for name in NAMES}
    plain, other = (
        fit(found, ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y") for found in (table, table | moved)
    )
    assert other.mean == pytest.approx(plain.mean, rel=1e-9)
    assert other.sd == pytest.approx(plain.sd, rel=1e-9)
    assert other.interval() == pytest.approx(plain.interval(), rel=1e-8)


def test_the_order_of_the_columns_and_of_the_rows_does_not_matter():
    table = panel()
    rows = np.random.default_rng(1).permutation(400)
    shuffled = {name: column[rows] for name, column in table.items()}
    found = [
        fit(table, ORDER, fixed_effects=["state", "year"], rng=0),
        fit(table, ORDER, fixed_effects=("year", "state"), rng=0),
        fit(shuffled, ORDER, fixed_effects=["state", "year"], rng=0),
    ]
    means = [posterior.effect("x", "y").mean for posterior in found]
    assert means == pytest.approx([means[0]] * 3, rel=1e-10)


def test_a_file_in_parts_gives_the_answer_of_the_table(tmp_path, monkeypatch):
    import pandas as pd

    table = panel()
    pd.DataFrame(table).to_csv(tmp_path / "panel.csv", index=False)
    expected = fit(table, ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y")
    found = fit(tmp_path / "panel.csv", ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y")
    assert found.mean == pytest.approx(expected.mean, rel=1e-10)
    monkeypatch.setattr("alldags.data.rows.PART_ROWS", 64)
    for n_jobs in (1, 2):
        parts = fit(table, ORDER, fixed_effects=["state", "year"], rng=0, n_jobs=n_jobs).effect("x", "y")
        assert parts.mean == pytest.approx(expected.mean, rel=1e-10)


def test_a_hundred_thousand_rows_of_five_thousand_levels_take_about_a_second():
    rng = np.random.default_rng(0)
    unit, year = rng.integers(0, 5000, 100_000), rng.integers(0, 30, 100_000)
    x = rng.standard_normal(5000)[unit] + rng.standard_normal(100_000)
    table = {
        "unit": unit,
        "year": year,
        "x": x,
        "y": 0.5 * x + rng.standard_normal(5000)[unit] + rng.standard_normal(100_000),
    }
    graph = ad.CandidateGraph.from_order(["x", "y"], 1.0)
    _ = fit(table, graph, rng=0).effect("x", "y").mean  # compiles
    start = time.process_time()
    mean = fit(table, graph, rng=0, fixed_effects=["unit", "year"]).effect("x", "y").mean
    assert time.process_time() - start < 4.0
    assert mean == pytest.approx(0.5, abs=0.02)


# -- rows within levels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factors", FACTORS)
def test_rows_as_regressions_see_them_have_the_moments_of_the_fit(factors):
    table = panel()
    posterior = fit(table, ORDER, fixed_effects=factors, weights="count", rng=0)
    rows = posterior.workings.table.regressed_rows(NAMES, "y")
    values = np.column_stack([rows.column(name) for name in NAMES])
    weight = rows.column(rows.marks.weight)
    expected = within(table, factors, table["count"])
    np.testing.assert_allclose(weight @ values / weight.sum(), expected.mean, rtol=1e-10)
    gap = values[weight > 0] - expected.mean
    np.testing.assert_allclose((gap * weight[weight > 0, None]).T @ gap, expected.scatter, rtol=1e-9, atol=1e-9)


def test_groups_of_rows_within_levels_add_up_to_the_moments_of_the_fit():
    table = panel()
    posterior = fit(table, ORDER, fixed_effects=["state", "year"], interventions="target", rng=0)
    (rows,) = posterior.recipe.parts
    assert len(rows.groups) == 2
    added = RowGroups(rows.inside.groups).without()
    np.testing.assert_allclose(added.scatter, rows.without().scatter, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(added.mean, rows.as_read.mean, rtol=1e-10)
    assert RowGroups(rows.inside.groups).inside.groups == rows.inside.groups


# -- answers -----------------------------------------------------------------------------------------------------------


def test_the_mean_outcome_under_do_keeps_every_rows_own_level():
    table = panel()
    posterior = fit(table, ORDER, fixed_effects=["state", "year"], rng=0)
    effect = posterior.effect("x", "y")
    expected = table["y"].mean() + effect.mean * (2.0 - table["x"].mean())
    assert float(effect.do(2.0).mean) == pytest.approx(expected, rel=1e-9)
    chosen = table["x"] > 0
    some = posterior.effect("x", "y", over=chosen)
    expected = table["y"][chosen].mean() + effect.mean * (2.0 - table["x"][chosen].mean())
    assert float(some.do(2.0).mean) == pytest.approx(expected, rel=1e-9)


def test_levels_of_other_units_are_not_guessed():
    posterior = fit(panel(), ORDER, fixed_effects="state", rng=0)
    with pytest.raises(AlldagsError, match=r"new unit and fixed_effects= do not go together: the intercept of a level"):
        _ = posterior.effect("x", "y").do(1.0).new_unit
    with pytest.raises(AlldagsError, match=r"over='population' and fixed_effects= do not go together"):
        posterior.effect("x", "y", over="population")
    with pytest.raises(AlldagsError, match=r"a placebo and fixed_effects= do not go together"):
        posterior.effect("x", "y").checks.placebo(2)
    with_set = fit(panel(), ORDER, fixed_effects="state", interventions="target", rng=0)
    with pytest.raises(AlldagsError, match="rows that were set may have levels whose intercepts are not known"):
        _ = with_set.effect("x", "y").do(1.0).mean


def test_the_answer_says_what_levels_take():
    text = everything(fit(panel(), ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y"))
    words = "intercept for each level of 'state' (25) and 'year' (8): they take 32 degrees of freedom of 400 rows"
    assert words in " ".join(text.split())


def test_levels_that_share_no_rows_are_counted_as_parts():
    table = panel()
    apart = np.where(np.array([name < "state 2" for name in table["state"]]), 0, 100)
    posterior = fit(table | {"year": table["year"] + apart}, ORDER, fixed_effects=["state", "year"], rng=0)
    assert any("the levels fall into 2 parts that share no row" in note for note in posterior.notes)


def test_checks_that_need_rows_say_why_they_were_not_made_and_others_are_within_levels():
    checks = fit(panel(), ORDER, fixed_effects="state", rng=0).checks()
    assert any("each level of a fixed effect has its own intercept" in text for text in checks.not_made)
    assert {line.check for line in checks.lines} == {"collinear causes"}


def test_sensitivity_stability_and_tables_are_those_within_levels():
    table = panel()
    found = fit(table, ORDER, fixed_effects=["state", "year"], rng=0)
    expected = fit(within(table, ["state", "year"]), ORDER, rng=0)
    one, other = (posterior.effect("x", "y").sensitivity().robustness().value for posterior in (found, expected))
    assert one == pytest.approx(other, rel=0.02)
    np.testing.assert_allclose(found.effects().values, expected.effects().values, rtol=1e-7, atol=1e-12)
    names = [posterior.effect("x", "y").checks.stability()["mean"] for posterior in (found, expected)]
    assert names[0] == pytest.approx(names[1], rel=1e-6)


# -- adopted at different times ----------------------------------------------------------------------------------------


def adopted(start: np.ndarray) -> dict[str, Any]:
    """Return ten states over ten years in which a law holds from a year on."""
    rng = np.random.default_rng(4)
    state, year = (codes.ravel() for codes in np.meshgrid(np.arange(10), np.arange(1990, 2000), indexing="ij"))
    law = (year >= start[state]).astype(float)
    return {
        "state": state,
        "year": year,
        "law": law,
        "y": law + rng.standard_normal(10)[state] + rng.standard_normal(100),
    }


LATER = np.array([1993, 1993, 1996, 1996, 2001, 2001, 2001, 2001, 2001, 2001])


def says_staggered(table: dict[str, Any], factors: list[str]) -> bool:
    graph = ad.CandidateGraph.from_order(["law", "y"], 1.0)
    notes = fit(table, graph, fixed_effects=factors, rng=0).effect("law", "y").notes
    found = [note for note in notes if "law was switched on at different times" in note]
    assert all(note.severity == "check" for note in found)
    return bool(found)


def test_a_treatment_that_was_adopted_at_different_times_has_a_note():
    assert says_staggered(adopted(LATER), ["state", "year"])
    assert says_staggered(adopted(LATER), ["year", "state"])
    assert not says_staggered(adopted(LATER), ["state"])


def test_a_treatment_that_came_everywhere_at_once_or_goes_again_has_none():
    assert not says_staggered(adopted(np.where(LATER < 2000, 1993, 2001)), ["state", "year"])
    table = adopted(LATER)
    table["law"] = np.where((table["state"] == 0) & (table["year"] == 1999), 0.0, table["law"])
    assert not says_staggered(table, ["state", "year"])


# -- kept in a file, asked on the command line -------------------------------------------------------------------------


def test_a_saved_posterior_gives_the_same_bits(tmp_path):
    posterior = fit(panel(), ORDER, fixed_effects=["state", "year"], interventions="target", weights="count", rng=0)
    effect = posterior.effect("x", "y")
    posterior.save(tmp_path / "kept.npz")
    again = ad.load(tmp_path / "kept.npz").effect("x", "y")
    assert (again.mean, again.sd, again.interval()) == (effect.mean, effect.sd, effect.interval())
    with pytest.raises(AlldagsError, match="new unit and fixed_effects= do not go together"):
        _ = again.do(1.0).new_unit


def test_the_note_on_adoption_is_kept(tmp_path):
    graph = ad.CandidateGraph.from_order(["law", "y"], 1.0)
    fit(adopted(LATER), graph, fixed_effects=["state", "year"], rng=0).save(tmp_path / "kept.npz")
    notes = ad.load(tmp_path / "kept.npz").effect("law", "y").notes
    assert any("switched on at different times" in note for note in notes)


def test_a_file_with_levels_that_make_no_sense_is_refused(tmp_path):
    fit(panel(), ORDER, fixed_effects="state", rng=0).save(tmp_path / "kept.npz")
    with np.load(tmp_path / "kept.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, value in (("cell_key0", arrays["cell_key0"] + 1), ("cell_weight0", -arrays["cell_weight0"])):
        np.savez(tmp_path / "bad.npz", **(arrays | {name: value}))
        with pytest.raises(DataError, match="damaged: 'levels' was not written by fit"):
            ad.load(tmp_path / "bad.npz")


def test_the_command_line_takes_two_columns_joined_by_a_comma(tmp_path, capsys):
    import pandas as pd

    pd.DataFrame(panel()).to_csv(tmp_path / "panel.csv", index=False)
    ad.write_graph(ORDER, tmp_path / "graph.toml")
    asked = ["effect", str(tmp_path / "panel.csv"), "--graph", str(tmp_path / "graph.toml")]
    asked += ["--treatment", "x", "--outcome", "y"]
    command([*asked, "--fixed-effects", "state,year", "--details"])
    assert "each level of 'state' (25) and 'year' (8)" in " ".join(capsys.readouterr().out.split())
    command([*asked, "--fixed-effects", "state", "--details"])
    assert "curves were not looked for, because of --fixed-effects" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(AlldagsError) as error:
        command([*asked, "--fixed-effects", "state", "--missing", "impute"])
    assert "--fixed-effects and --missing impute do not go together" in error.value.on_command_line


# -- refused by name ---------------------------------------------------------------------------------------------------


REFUSED = {
    "does not vary within the levels of 'state': .* leave it out of the graph": {
        "table": {"w": np.arange(25.0)[np.unique(panel()["state"], return_inverse=True)[1]]},
        "fixed_effects": "state",
    },
    "'w' does not vary within the levels of 'state' and 'year'": {
        "table": {"w": np.unique(panel()["state"], return_inverse=True)[1] + 0.1 * panel()["year"]},
        "fixed_effects": ["state", "year"],
    },
    "fixed_effects='w' is a variable of the graph, too": {"fixed_effects": ["state", "w"]},
    r"has 3 columns, and at most two can be taken out": {"fixed_effects": ["state", "year", "count"]},
    "fixed_effects='stat' is not a column of the data; did you mean 'state'": {"fixed_effects": "stat"},
    "fixed_effects must be a list of names": {"fixed_effects": 3},
    "column names must be distinct": {"fixed_effects": ["state", "state"]},
    "40 rows have no 'state'; give them a level of their own, or drop them with missing='drop'": {
        "table": {"state": np.where(np.arange(400) < 40, None, panel()["state"])},
        "fixed_effects": "state",
    },
    r"takes 400 degrees of freedom of 400 rows: levels need several rows each": {
        "table": {"id": np.arange(400)},
        "fixed_effects": "id",
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_by_name(words):
    options = dict(REFUSED[words])
    table = panel() | options.pop("table", {})
    with pytest.raises(DataError, match=words):
        fit(table, ORDER, **options)


def test_a_category_that_follows_from_the_levels_is_refused_by_its_own_name():
    table = panel()
    region = np.array(list("abc"))[np.unique(table["state"], return_inverse=True)[1] % 3]
    graph = ad.CandidateGraph.from_tiers([["region"], ["x"], ["y"]], 0.5)
    with pytest.raises(DataError, match=r"^'region' does not vary within the levels of 'state'"):
        fit(table | {"region": region}, graph, fixed_effects="state")


def test_a_cause_that_varies_within_levels_only_where_the_child_was_set_is_of_no_use_there_and_no_obstacle():
    table = panel()
    state = np.unique(table["state"], return_inverse=True)[1]
    table["w"] = np.where(table["target"] == "m", table["w"], state.astype(float))
    found = fit(table, ORDER, fixed_effects="state", interventions="target", rng=0)
    assert found.workings.data.of("m").scatter[0, 0] == 0.0
    assert found.effect("x", "y").sd > 0


def test_too_many_levels_among_the_variables_lead_to_fixed_effects():
    rng = np.random.default_rng(0)
    table = {
        "firm": [f"firm {i}" for i in rng.integers(0, 70, 500)],
        "x": rng.normal(size=500),
        "y": rng.normal(size=500),
    }
    graph = ad.CandidateGraph.from_tiers([["firm", "x"], ["y"]], 0.5)
    with pytest.raises(DataError, match="have an intercept for each with fixed_effects='firm'"):
        fit(table, graph)


# -- rows that belong together, noise that is uneven -------------------------------------------------------------------


def serial(seed: int, uneven: bool = False) -> dict[str, Any]:
    """Return 40 states over 12 years whose noise stays for years, or grows with the treatment."""
    rng = np.random.default_rng(seed)
    state, year = (codes.ravel() for codes in np.meshgrid(np.arange(40), np.arange(12), indexing="ij"))
    walks = np.cumsum(rng.standard_normal((2, 40, 12)), axis=2).reshape(2, -1)
    level = 5 * rng.standard_normal(40)[state]
    x = level + (rng.standard_normal(480) if uneven else walks[0])
    noise = (0.3 + np.abs(x - level)) * rng.standard_normal(480) if uneven else walks[1]
    return {"state": state, "year": year, "x": x, "y": 0.5 * x + 3 * level + noise}


XY = ad.CandidateGraph.from_order(["x", "y"], 1.0)


def spread(make: Any, **options: Any) -> tuple[float, float]:
    """Return the standard deviation of the mean over 60 tables, and the average of what is said of it."""
    found = [
        fit(make(seed), XY, rng=0, fixed_effects=["state", "year"], **options).effect("x", "y") for seed in range(60)
    ]
    return float(np.std([one.mean for one in found], ddof=1)), float(np.mean([one.sd for one in found]))


def test_noise_that_stays_for_years_is_seen_by_clusters_only():
    seen, said = spread(serial, cluster="state")
    assert said == pytest.approx(seen, rel=0.25)  # a standard deviation of 60: 9% of error
    assert spread(serial, robust=False)[1] < 0.6 * seen


def test_noise_that_is_uneven_within_levels_is_seen_by_rows_and_even_noise_is_left_alone():
    def uneven(seed: int) -> dict[str, Any]:
        return serial(seed, uneven=True)

    seen, said = spread(uneven)
    assert said == pytest.approx(seen, rel=0.25)
    even = fit(panel(), ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "y")
    plain = fit(panel(), ORDER, fixed_effects=["state", "year"], rng=0, robust=False).effect("x", "y")
    assert even.sd == plain.sd


def test_short_panels_of_even_noise_are_not_taken_for_too_certain_nor_widened():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(300), 2)
    x = rng.standard_normal(300)[unit] + rng.standard_normal(600)
    table = {"unit": unit, "x": x, "y": 0.5 * x + rng.standard_normal(300)[unit] + rng.standard_normal(600)}
    check = fit(table, XY, fixed_effects="unit", rng=0).effect("x", "y").uncertainty.jackknife
    assert check.sd_pieces == pytest.approx(check.sd_expected, rel=0.1)


def test_clusters_and_rows_know_the_levels_of_each_regressions_own_rows():
    table = panel()
    asked = {"fixed_effects": ["state", "year"], "interventions": "target", "rng": 0}
    rows = fit(table, ORDER, **asked).effect("x", "m").uncertainty.jackknife
    free = {name: column[table["target"] == ""] for name, column in table.items()}
    expected = fit(free, ORDER, fixed_effects=["state", "year"], rng=0).effect("x", "m").uncertainty.jackknife
    assert rows.sd_pieces == pytest.approx(expected.sd_pieces, rel=0.1)
    clusters = fit(table, ORDER, cluster="state", **asked).effect("x", "m").uncertainty.jackknife
    assert clusters.sd_expected == pytest.approx(rows.sd_expected, rel=0.1)
    by_rows = fit(table | {"row": np.arange(400)}, ORDER, cluster="row", **asked).effect("x", "m").uncertainty.jackknife
    assert by_rows.sd_pieces == pytest.approx(rows.sd_pieces * math.sqrt(1 - 32 / 280), rel=0.1)
