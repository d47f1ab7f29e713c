"""`effect.do(x)` has one meaning for every effect, and `over=` says over which rows, or is refused."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import alldags as ad
from alldags.errors import AlldagsError
from lines import fit

ROWS = 200
GRAPH = ad.CandidateGraph.from_tiers([["z"], ["t"], ["m"], ["y"]])
DIRECT = ad.CandidateGraph.from_tiers([["z"], ["t"], ["y"]])
LINES = ad.Terms(curves=0, products=0, index=False, propensity=False, modification="none")


@cache
def table(rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    z = rng.standard_normal(rows)
    t = (rng.standard_normal(rows) + z > 0) * 1.0
    dose = rng.standard_normal(rows) + z
    m = 0.5 * t + 0.5 * z + 0.3 * dose + rng.standard_normal(rows)
    y = 10.0 + t + dose + m + z + rng.standard_normal(rows)
    ill = (rng.random(rows) < 1 / (1 + np.exp(-(t + z - 0.5)))) * 1.0
    visits = rng.poisson(np.exp(0.4 * t + 0.3 * z)) * 1.0
    return {"z": z, "t": t, "dose": dose, "m": m, "y": y, "ill": ill, "visits": visits}


def renamed(**names: str) -> dict[str, np.ndarray]:
    """Return the table with other columns for t, m and y."""
    return {name: table()[names.get(name, name)] for name in ("z", "t", "m", "y")}


def hidden(graph: ad.CandidateGraph) -> ad.CandidateGraph:
    return graph.with_hidden("t", "y", 0.3)


KINDS = {
    "straight": lambda over: fit(renamed(), GRAPH, rng=0).effect("t", "y", over),
    "paper": lambda over: fit(renamed(), GRAPH, prior=ad.Prior.paper(), families="normal", rng=0).effect(
        "t", "y", over
    ),
    "hidden": lambda over: fit(renamed(), hidden(GRAPH), families="normal", rng=0).effect("t", "y", over),
    "heavy": lambda over: fit(renamed(), GRAPH, families={"y": "student"}, rng=0).effect("t", "y", over),
    "yes/no": lambda over: fit(renamed(y="ill"), GRAPH, rng=0).effect("t", "y", over),
    "count": lambda over: fit(renamed(y="visits"), DIRECT, families={"y": "poisson"}, rng=0).effect("t", "y", over),
    "yes/no mediator": lambda over: fit(renamed(m="ill"), GRAPH, rng=0).effect("t", "y", over),
    "curve": lambda over: fit(renamed(), DIRECT, terms="auto", rng=0).effect("t", "y", over),
    "pushed curve": lambda over: fit(renamed(), GRAPH, terms="auto", rng=0).effect("t", "y", over),
    "pushed lines": lambda over: fit(renamed(), GRAPH, terms={"y": LINES, "m": LINES}, rng=0).effect("t", "y", over),
}


@cache
def effect(kind: str, over: str = "sample"):
    return KINDS[kind](over)


@pytest.mark.parametrize("kind", KINDS)
def test_the_difference_of_two_means_is_the_effect(kind):
    found = effect(kind)
    low, high = found.do(0), found.do(1)
    size = len(low.mean.draws)
    error = 5 * found.sd / math.sqrt(size) + 5 * found.uncertainty.mean_error
    assert float(high.mean) - float(low.mean) == pytest.approx(found.mean, abs=error)
    spread = (high.mean.draws - low.mean.draws).std()
    assert spread == pytest.approx(found.sd, rel=0.15)
    assert low.x == 0.0
    assert low.over == "sample"
    assert low.mean.interval(0.9)[0] <= float(low.mean) <= low.mean.interval(0.9)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_draws_as_are_asked_for(kind):
    found = effect(kind)
    assert found.do(1, draws_size=37).mean.draws.shape == (37,)
    unit = found.do(1, draws_size=37).new_unit
    drawn = getattr(unit, "draws", getattr(unit, "centers", None))
    assert drawn is None or drawn.shape == (37,)
    assert np.array_equal(found.do(1, draws_size=37).mean.draws, found.do(1, draws_size=37).mean.draws)


@pytest.mark.parametrize("kind", KINDS)
def test_a_population_is_less_well_known_than_these_rows(kind):
    sample, population = (effect(kind, over).do(1) for over in ("sample", "population"))
    assert population.over == "population"
    assert float(population.mean) == pytest.approx(float(sample.mean), abs=6 * sample.mean.sd / math.sqrt(900))
    extra = math.sqrt(population.mean.sd**2 - sample.mean.sd**2)
    outcome = effect(kind).posterior.workings.table.source().numbers(["y"]).read(0, ROWS)[0]
    most = outcome.std() / math.sqrt(ROWS)
    assert 0.1 * most < extra < 1.6 * most  # the most where lines go through the origin


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("yes/no", "count")])
def test_over_the_treated_the_mean_with_treatment_is_theirs(kind):
    """Every row keeps its residual, and with the treatment that it has it keeps its outcome."""
    found = effect(kind, "treated")
    columns = renamed(m="ill") if kind == "yes/no mediator" else renamed()
    treated = columns["t"] == 1
    within = 0.15 if kind == "yes/no mediator" else 1e-9  # whose value is averaged over there
    assert float(found.do(1).mean) == pytest.approx(columns["y"][treated].mean(), abs=within)
    assert found.do(1).mean.sd < max(within, 1e-9)
    other = float(effect(kind, "untreated").do(1).mean)
    assert abs(other - columns["y"][treated].mean()) > 0.3


def test_lines_that_might_have_been_curves_are_the_straight_answer():
    columns = renamed(t="dose")
    graph = DIRECT.with_edge("t", "y", 1.0).with_edge("z", "y", 1.0)
    prior = ad.Prior(link=0.0, slab_variance=100.0)
    straight = fit(columns, graph, prior=prior, rng=0).effect("t", "y")
    curved = fit(columns, graph, prior=prior, terms={"y": LINES}, rng=0).effect("t", "y")
    assert type(curved.answer) is not type(straight.answer)
    for x in (-1.0, 0.2, 2.0):
        one, other = straight.do(x), curved.do(x)
        assert float(other.mean) == pytest.approx(float(one.mean), abs=1e-3)
        assert other.mean.sd == pytest.approx(one.mean.sd, rel=0.1)
        assert other.new_unit.sd == pytest.approx(one.new_unit.sd, rel=0.1)
        assert other.new_unit.mean == pytest.approx(one.new_unit.mean, abs=5 * one.new_unit.sd / math.sqrt(4000))


def test_arms_of_a_yes_no_treatment_that_might_have_differed_are_the_straight_answer():
    graph = DIRECT.with_edge("t", "y", 1.0).with_edge("z", "y", 1.0)
    prior = ad.Prior(link=0.0, slab_variance=100.0)
    straight = fit(renamed(), graph, prior=prior, rng=0).effect("t", "y")
    curved = fit(renamed(), graph, prior=prior, terms={"y": LINES}, rng=0).effect("t", "y")
    for x in (0, 1):
        assert float(curved.do(x).mean) == pytest.approx(float(straight.do(x).mean), abs=0.02)
        assert curved.do(x).mean.sd == pytest.approx(straight.do(x).mean.sd, rel=0.15)


# -- new units ---------------------------------------------------------------------------------------------------------


def test_a_new_yes_no_unit_is_a_probability():
    found = effect("yes/no").do(1).new_unit
    assert found.mean == found.probability == pytest.approx(float(effect("yes/no").do(1).mean))
    assert found.sd == pytest.approx(math.sqrt(found.mean * (1 - found.mean)))
    assert found.interval(0.95) == (0.0, 1.0)
    assert float(found.cdf(0.5)) == pytest.approx(1 - found.probability)


def test_a_new_count_has_the_spread_of_counts():
    found = effect("count").do(1).new_unit
    mean = float(effect("count").do(1).mean)
    assert found.mean == pytest.approx(mean, abs=5 * found.sd / math.sqrt(len(found.draws)))
    assert (found.draws == np.round(found.draws)).all()
    assert found.sd**2 > mean  # more than Poisson's: rows differ
    observed = table()["visits"][table()["t"] == 1]
    assert found.sd == pytest.approx(observed.std(), rel=0.35)


@pytest.mark.parametrize("kind", ["straight", "curve", "pushed curve", "pushed lines"])
def test_new_units_are_spread_as_much_as_the_world_makes_them(kind):
    rng = np.random.default_rng(0)
    size = 100_000
    z, dose = rng.standard_normal((2, size))
    dose = dose + z  # another cause of the outcome, which is not in the graph
    outcome = 10.0 + 1 + dose + (0.5 + 0.5 * z + 0.3 * dose + rng.standard_normal(size)) + z + rng.standard_normal(size)
    at = effect(kind).do(1)
    assert at.new_unit.sd == pytest.approx(outcome.std(), rel=0.15)
    assert at.new_unit.mean == pytest.approx(float(at.mean), abs=0.3)
    shift = float(at.mean) - outcome.mean()  # what these rows make of the mean
    for level in (0.1, 0.5, 0.9):
        assert float(at.new_unit.cdf(np.quantile(outcome, level) + shift)) == pytest.approx(level, abs=0.06)


def test_a_picture_along_a_curve_has_the_values_of_the_treatment():
    columns = renamed() | {"t": np.where(renamed()["t"] == 1, 5.0, 2.0)}
    found = fit(columns, DIRECT, terms={"y": LINES}, rng=0).effect("t", "y")
    axes = found.plots.do()
    assert axes.lines[0].get_xdata().tolist() == [2.0, 5.0]
    assert "95% of new units" in [text.get_text() for text in axes.get_legend().get_texts()]
    means = effect("yes/no").plots.do()
    assert "95% of the mean" in [text.get_text() for text in means.get_legend().get_texts()]
    with pytest.raises(AlldagsError, match="of must be"):
        found.plots.do(of="units")


# -- categories --------------------------------------------------------------------------------------------------------


def test_a_category_among_the_covariates_is_no_obstacle_to_the_mean():
    site = np.random.default_rng(3).choice(list("pqr"), ROWS)
    columns = {"site": site, "t": table()["t"], "y": table()["y"] + (site == "p")}
    found = fit(columns, ad.CandidateGraph.from_tiers([["site"], ["t"], ["y"]]), rng=0).effect("t", "y")
    at = found.do(1)
    share = columns["t"].mean()
    assert float(at.mean) == pytest.approx(columns["y"].mean() + found.mean * (1 - share), rel=1e-12)
    assert at.mean.sd == pytest.approx(found.sd * (1 - share), rel=1e-12)
    assert "mean of y" in repr(at)


def test_a_new_unit_with_a_category_is_a_random_row_that_keeps_its_residual():
    site = np.random.default_rng(3).choice(list("pqr"), ROWS)
    columns = {"site": site, "t": table()["t"], "y": table()["y"] + (site == "p")}
    found = fit(columns, ad.CandidateGraph.from_tiers([["site"], ["t"], ["y"]]), rng=0).effect("t", "y")
    unit = found.do(1, draws_size=20_000).new_unit
    pushed = columns["y"] + found.mean * (1 - columns["t"])
    variance = pushed.var() + found.sd**2 * np.mean((1 - columns["t"]) ** 2)
    assert unit.mean == pytest.approx(float(found.do(1).mean), abs=5 * unit.sd / 20_000**0.5)
    assert unit.sd == pytest.approx(np.sqrt(variance), rel=0.02)


# -- over --------------------------------------------------------------------------------------------------------------


def asked(over, treatment="dose", **options):
    columns = {name: table()[name] for name in ("z", "dose", "t", "y")}
    graph = ad.CandidateGraph.from_tiers([["z"], ["dose", "t"], ["y"]])
    return fit(columns, graph, rng=0, **options).effect(treatment, "y", over=over)


def test_a_mask_chooses_rows_of_a_straight_effect():
    mask = table()["z"] > 0.5
    found, plain = asked(mask), asked("sample")
    assert found.mean == plain.mean
    assert found.interval() == plain.interval()
    assert found.over == found.do(0.0).over == "chosen rows"
    columns = table()
    expected = columns["y"][mask].mean() + found.mean * (2.0 - columns["dose"][mask].mean())
    assert float(found.do(2.0).mean) == pytest.approx(expected, rel=1e-12)
    assert float(found.do(2.0).mean) != pytest.approx(float(plain.do(2.0).mean), abs=0.1)
    assert found.do(2.0).mean.draws.mean() == pytest.approx(expected, abs=5 * found.do(2.0).mean.sd / 60)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (np.array([True, False, True]), r"one truth value for each of the 200 rows, got shape \(3,\)"),
        (np.ones(3), "one weight for each of the 200 rows"),
        (np.zeros(ROWS), "weights of rows that are negative, not finite or all zero"),
        (-np.ones(ROWS), "weights of rows that are negative, not finite or all zero"),
        ([True] * 3, "one truth value for each of the 200 rows"),
        (np.zeros(ROWS, dtype=bool), "over picks no row at all"),
        ("treated", "over='treated' needs a treatment with two values, 'dose' has more"),
        ("untreated", "needs a treatment with two values"),
        ("nobody", "there is no variable 'nobody'; write 'sample', 'population'"),
        (3, "one truth value or one weight per row, or a table, got 3"),
    ],
)
def test_other_rows_are_refused_when_the_effect_is_asked_for(over, words):
    with pytest.raises(AlldagsError, match=words):
        asked(over)


def test_treated_and_untreated_rows_of_a_straight_effect():
    columns = table()
    for over, value in (("treated", 1.0), ("untreated", 0.0)):
        found = asked(over, "t").do(value)
        assert float(found.mean) == pytest.approx(columns["y"][columns["t"] == value].mean(), rel=1e-12)


def test_moments_know_no_rows():
    moments = ad.Moments.from_table({name: table()[name] for name in ("z", "t", "y")})
    posterior = fit(moments, DIRECT, rng=0, families="normal")
    for over in ("treated", np.ones(ROWS, dtype=bool)):
        with pytest.raises(AlldagsError, match="no rows to choose from; ask over='sample' or 'pop"):
            posterior.effect("t", "y", over=over)
    assert posterior.effect("t", "y", over="population").do(1).mean.sd > posterior.effect("t", "y").do(1).mean.sd


@pytest.mark.parametrize("options", [{"weights": np.ones(ROWS)}, {"interventions": {"t": np.arange(ROWS) < 50}}])
def test_rows_that_do_not_count_as_one_are_not_chosen_among(options):
    name = next(iter(options))
    with pytest.raises(AlldagsError, match=f"chosen rows of over= and {name}= do not go together"):
        asked("treated", "t", **options)
    assert asked("population", "t", **options).do(1).mean.sd > asked("sample", "t", **options).do(1).mean.sd


def test_clusters_keep_the_rows_that_were_asked_for():
    mask = table()["z"] > 0.5
    found = asked(mask, cluster=np.arange(ROWS) % 40, families="normal")
    assert found.over == "chosen rows"
    expected = table()["y"][mask].mean() + found.mean * (1.0 - table()["dose"][mask].mean())
    assert float(found.do(1.0).mean) == pytest.approx(expected, rel=1e-12)


def test_a_saved_fit_has_no_rows_of_straight_lines(tmp_path):
    found = asked("sample", families="normal")
    found.posterior.save(tmp_path / "study.npz")
    loaded = ad.load(tmp_path / "study.npz")
    assert float(loaded.effect("dose", "y").do(1).mean) == float(found.do(1).mean)
    with pytest.raises(AlldagsError, match="no rows to choose from"):
        loaded.effect("t", "y", over="treated")
