"""Uneven noise: where rows say that the standard deviation is too small, it is made larger, and a note says so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.answers.joint import joint_draws
from alldags.answers.pieces import answering, present, row_moves
from alldags.columns.base import RowValues
from alldags.columns.rows import Rows
from alldags.effects.jackknife import Jackknife, Moves, Stretch
from alldags.families.base import Batch, Draws
from lines import fit
from show.everything import everything

ROWS = 300
CAUSES = ("c0", "c1", "c2")
GRAPH = ad.CandidateGraph.from_tiers([list(CAUSES), ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
MEDIATED = ad.CandidateGraph.from_tiers([list(CAUSES), ["x"], ["m"], ["y"]], 0.5).with_edge("x", "y", 1.0)


def table(seed=0, *, uneven=0.0, kind="normal", rows=ROWS):
    """Return three covariates, a treatment, a mediator and an outcome; noise grows with the treatment's distance."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((rows, 3))
    x = c @ [0.5, 0.4, 0.0] + rng.standard_normal(rows)
    size = np.sqrt((1.0 + uneven * x**2) / (1.0 + uneven * np.mean(x**2)))
    m = 0.6 * x + 0.3 * c[:, 1] + rng.standard_normal(rows)
    eta = 0.5 * x + c @ [0.5, -0.4, 0.3]
    yes = (rng.random(rows) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    made = {
        "normal": eta + size * rng.standard_normal(rows),
        "yes/no": yes,
        "count": rng.poisson(np.exp(0.4 * eta) * (rng.gamma(1.0, 1.0, rows) if uneven else 1.0)).astype(float),
        "student": eta + rng.standard_t(3, rows),
        "lognormal": np.exp(0.5 * eta + 0.8 * rng.standard_normal(rows)),
        "gamma": np.exp(0.5 * eta) * rng.gamma(1.5, 1.0, rows),
        "ordered": (eta + rng.logistic(size=rows) > np.array([[-1.0], [0.0], [1.5]])).sum(axis=0).astype(float),
    }
    return {**dict(zip(CAUSES, c.T, strict=True)), "x": x, "m": m, "y": made[kind] + (0.4 * m if kind == "m" else 0.0)}


def effect(*, graph=GRAPH, seed=0, uneven=0.0, kind="normal", **options):
    return fit(table(seed, uneven=uneven, kind=kind), graph, rng=seed, **options).effect("x", "y")


def joints_of(found):
    workings = found.posterior.workings
    return joint_draws(found.answer, found.workings.totals, workings.models, np.random.default_rng(3))


def rows_of(found):
    workings = found.posterior.workings
    return workings.data.table or workings.table.rows(workings.data.pooled.names)


# -- the numbers -------------------------------------------------------------------------------------------------------


def by_every_draw(found):
    """Return the covariance of the effect with the log-likelihood of each row: every row meets every draw."""
    (joint,) = joints_of(found)
    there = joint.effect != 0.0
    gap = (joint.effect[there] - joint.effect[there].mean()) / (there.sum() - 1)
    total = 0.0
    for of in joint.regressed:
        (batch,) = Rows(rows_of(found)).batches()
        rows, theta, precision = (
            RowValues(batch.values, of.fold(batch.values)),
            of.coefficients[there],
            of.precision[:, there],
        )
        child, design = (rows.values[of.child] - of.center) / of.unit, of.columns.of(rows)
        if of.family is None:
            arm = of.arm(rows)
            own = precision[np.zeros(len(child), dtype=int) if arm is None else arm.astype(int)]
            gaps = child[:, None] - theta[:, 0] - design @ theta[:, 1:].T
            total = total + (0.5 * np.log(own) - 0.5 * own * gaps**2) @ gap
        else:
            draws = Draws(theta[:, 0], theta[:, 1:], precision[0], None if of.beside is None else of.beside[there])
            total = total + of.family.log_likelihood_by_row(Batch(design, child), draws) @ gap
    return total


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-3),  # halves of the draws are centred each at its own mean
        ({"graph": MEDIATED}, 1e-3),
        ({"kind": "yes/no"}, 0.02),
        ({"kind": "count", "families": {"y": "poisson"}}, 0.02),
        ({"kind": "student", "families": {"y": "student"}}, 0.05),
        ({"kind": "lognormal", "families": {"y": "lognormal"}}, 0.05),
        ({"kind": "gamma", "families": {"y": "gamma"}}, 0.05),
        ({"kind": "ordered", "families": {"y": "ordered"}}, 0.05),
        ({"terms": "auto"}, 2e-3),
    ],
)
def test_moves_are_covariances_with_the_log_likelihood_of_each_row(options, tolerance):
    found = effect(**options)
    moves = row_moves(tuple(answering(joints_of(found)).values()), rows_of(found))
    slow = by_every_draw(found)
    fast = moves.psi.mean(axis=0)
    leverage = 1.0 - slow / np.where(fast == 0.0, 1.0, fast)
    assert np.median(leverage) == pytest.approx(0.0, abs=0.06)  # moves are those of leaving a row out
    assert np.corrcoef(slow, fast)[0, 1] > 0.995
    assert np.std(slow) == pytest.approx(np.std(fast), rel=tolerance + 0.08)


@pytest.mark.parametrize("uneven", [0.0, 2.0])
def test_with_certain_edges_and_a_wide_slab_it_is_the_sandwich_hc3(uneven):
    data = table(1, uneven=uneven)
    graph = ad.CandidateGraph.from_edges({(cause, "y"): 1.0 for cause in (*CAUSES, "x")})
    check = fit(data, graph, prior=ad.Prior(slab_variance=1e4), rng=0).effect("x", "y").uncertainty.jackknife
    design = np.column_stack([np.ones(ROWS), data["x"], *(data[name] for name in CAUSES)])
    bread = np.linalg.inv(design.T @ design)
    left = data["y"] - design @ (bread @ design.T @ data["y"])
    leverage = np.einsum("ij,jk,ik->i", design, bread, design)
    scores = design * (left / (1.0 - leverage))[:, None]
    hc3 = bread @ (scores.T @ scores) @ bread
    even = bread[1, 1] * float(left @ left) / (ROWS - 5)
    assert check.sd_pieces == pytest.approx(math.sqrt(hc3[1, 1]), rel=0.02)
    assert check.sd_expected == pytest.approx(math.sqrt(even), rel=0.02)
    assert (check.factor > 1.2) == bool(uneven)


def test_weights_of_a_sample_are_those_of_the_weighted_sandwich():
    data = table(2)
    weight = np.where(data["c0"] > 0.0, 4.0, 1.0)
    graph = ad.CandidateGraph.from_edges({(cause, "y"): 1.0 for cause in (*CAUSES, "x")})
    options = {"weights": weight, "weight_kind": "sampling", "prior": ad.Prior(slab_variance=1e4)}
    check = fit(data, graph, rng=0, **options).effect("x", "y").uncertainty.jackknife
    design = np.column_stack([np.ones(ROWS), data["x"], *(data[name] for name in CAUSES)])
    bread = np.linalg.inv((design * weight[:, None]).T @ design)
    left = data["y"] - design @ (bread @ (design * weight[:, None]).T @ data["y"])
    leverage = weight * np.einsum("ij,jk,ik->i", design, bread, design)
    scores = design * (weight * left / (1.0 - leverage))[:, None]
    sandwich = bread @ (scores.T @ scores) @ bread
    assert check.kind == "weights"
    assert check.sd_pieces == pytest.approx(math.sqrt(sandwich[1, 1]), rel=0.03)


def test_rows_of_frequency_weights_count_as_the_longer_table():
    data, times = table(3, uneven=2.0), np.random.default_rng(0).integers(1, 4, ROWS)
    longer = {name: np.repeat(column, times) for name, column in data.items()}
    short, long = (
        fit(rows, GRAPH, rng=0, **options).effect("x", "y").uncertainty.jackknife
        for rows, options in ((data, {"weights": times}), (longer, {}))
    )
    assert short.sd_pieces == pytest.approx(long.sd_pieces, rel=1e-3)
    assert short.sd_expected == pytest.approx(long.sd_expected, rel=1e-6)


def test_ten_thousand_rows_and_two_thousand_draws_leave_no_bias_of_chance():
    n, draws = 10_000, 2000
    found = fit(table(5, rows=n), GRAPH, rng=0).effect("x", "y")
    joints = [type(j)(j.effect[:draws], tuple(_first(of, draws) for of in j.regressed)) for j in joints_of(found)]
    moves = row_moves(tuple(answering(joints).values()), rows_of(found))
    ratio = moves.variance / moves.expected
    assert ratio == pytest.approx(1.0, abs=4 * math.sqrt(2 * 1.5 / n) + 0.03)


def _first(of, size):
    return replace(of, coefficients=of.coefficients[:size], precision=of.precision[:, :size])


def test_errors_of_the_draws_do_not_add_up_over_rows():
    rng = np.random.default_rng(0)
    truth, error = rng.standard_normal(10_000), 3.0
    noisy = truth + error * rng.standard_normal((2, 10_000))
    assert Moves(noisy, 1.0).variance == pytest.approx(10_000, rel=0.2)  # the mean of both would give 5.5 times as much


# -- the answer --------------------------------------------------------------------------------------------------------


def test_even_noise_changes_no_bit_and_says_nothing():
    default, plain = effect(), effect(robust=False)
    assert default.uncertainty.jackknife.factor == 1.0
    assert (default.mean, default.sd, default.interval()) == (plain.mean, plain.sd, plain.interval())
    assert (default.draws(100, rng=1) == plain.draws(100, rng=1)).all()
    assert not any("uneven" in note for note in default.notes)
    assert plain.uncertainty.jackknife is None


def test_sd_interval_and_draws_carry_the_same_factor_and_the_mean_none():
    wide, plain = effect(uneven=3.0), effect(uneven=3.0, robust=False)
    factor = wide.uncertainty.jackknife.factor
    assert factor > 1.3
    assert wide.mean == plain.mean
    assert wide.sd == pytest.approx(factor * plain.sd, rel=1e-12)
    assert np.subtract(*wide.interval()) == pytest.approx(factor * np.subtract(*plain.interval()), rel=1e-9)
    np.testing.assert_allclose(
        wide.draws(50, rng=1) - wide.mean, factor * (plain.draws(50, rng=1) - plain.mean), rtol=1e-9
    )
    assert wide.do(1.0).mean.sd == pytest.approx(factor * plain.do(1.0).mean.sd, rel=1e-9)
    assert wide.checks.least_squares.error == pytest.approx(factor * plain.checks.least_squares.error)
    (worst, *_) = wide.notes
    assert worst.severity == "check"
    assert f"{factor:.2f} times that of the model" in worst
    assert wide.to.dict()["noise"] == {"sd_even": plain.sd, "factor": pytest.approx(factor)}
    assert "sd if noise were even" in everything(wide)


def test_the_probability_of_no_effect_and_the_zeros_stay():
    graph = ad.CandidateGraph.from_tiers([list(CAUSES), ["x"], ["y"]], 0.5)
    data = table(4, uneven=3.0)
    data["y"] = data["y"] - 0.42 * data["x"]  # so weak an effect that there may be none
    wide, plain = (fit(data, graph, rng=0, robust=robust).effect("x", "y") for robust in (True, False))
    assert 0.02 < plain.probability_no_effect < 0.98
    assert wide.uncertainty.jackknife.factor > 1.2
    assert wide.probability_no_effect == plain.probability_no_effect
    assert ((wide.draws(4000, rng=1) == 0.0) == (plain.draws(4000, rng=1) == 0.0)).all()
    drawn = wide.draws(400_000, rng=2)
    assert drawn.mean() == pytest.approx(wide.mean, abs=5 * wide.sd / math.sqrt(400_000))
    assert drawn.std() == pytest.approx(wide.sd, rel=0.01)
    assert wide.sd > plain.sd


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"uneven": 3.0, "graph": MEDIATED},
        {"kind": "yes/no"},
        {"kind": "count", "uneven": 1.0, "families": {"y": "poisson"}},
        {"kind": "student", "families": {"y": "student"}},
        {"graph": [GRAPH, GRAPH.without_edge("c0", "y")]},
        {"interventions": {"x": list(range(20))}},
        {"cluster": [i // 10 for i in range(ROWS)], "kind": "yes/no"},
    ],
)
def test_no_answer_becomes_more_certain(options, seed):
    found = effect(seed=seed, **options)
    plain = effect(seed=seed, **{k: v for k, v in options.items() if k != "cluster"}, robust=False)
    assert found.uncertainty.jackknife.factor >= 1.0
    assert found.sd >= plain.sd * (1.0 - 1e-9)
    assert found.mean == pytest.approx(plain.mean, rel=1e-9)


def test_counts_that_vary_more_than_their_mean_are_named():
    found = effect(kind="count", uneven=1.0, families={"y": "poisson"})
    assert found.uncertainty.jackknife.factor > 1.2
    assert any("counts vary more than their mean says" in note for note in found.notes)


def test_jobs_do_not_change_the_factor():
    one, two = (effect(uneven=2.0, n_jobs=jobs) for jobs in (1, 2))
    assert one.uncertainty.jackknife == two.uncertainty.jackknife
    assert one.interval() == two.interval()


@pytest.mark.parametrize(
    "options", [{}, {"weights": np.arange(ROWS) % 3 + 1.0, "weight_kind": "sampling"}, {"robust": False}]
)
def test_a_saved_posterior_knows_what_rows_said_and_holds_none(tmp_path, options):
    posterior = fit(table(uneven=3.0), GRAPH, rng=0, **options)
    kept = posterior.effect("x", "y")
    kept.interval()
    posterior.save(tmp_path / "study.npz")
    found = ad.load(tmp_path / "study.npz").effect("x", "y")
    assert (found.sd, found.interval()) == (kept.sd, kept.interval())
    assert found.uncertainty.jackknife == kept.uncertainty.jackknife
    assert found.contrast(0, 10).sd == kept.contrast(0, 10).sd
    with np.load(tmp_path / "study.npz") as archive:
        assert "rows" not in archive.files


def test_a_question_that_was_not_asked_before_saving_takes_noise_for_even_and_says_so(tmp_path):
    posterior = fit(table(uneven=3.0), GRAPH, rng=0)
    posterior.save(tmp_path / "study.npz")
    found = ad.load(tmp_path / "study.npz").effect("x", "y")
    assert found.sd == effect(uneven=3.0, robust=False).sd
    assert any("there are only moments of them here" in note for note in found.notes)


def test_saved_yes_no_outcomes_and_clusters_ask_their_rows_again(tmp_path):
    for options in (
        {"kind": "yes/no"},
        {"cluster": [i // 10 for i in range(ROWS)], "kind": "yes/no"},
        {"terms": "auto"},
    ):
        kept = effect(uneven=3.0, **options)
        kept.posterior.save(tmp_path / "study.npz")
        assert ad.load(tmp_path / "study.npz").effect("x", "y").interval() == kept.interval()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior": ad.Prior.paper()}, "the prior says how large it is"),
        ({"engine": "vb"}, "the engine 'vb' takes it for even"),
    ],
)
def test_where_rows_are_not_asked_the_answer_says_so(options, words):
    found = effect(uneven=3.0, **options)
    assert found.uncertainty.jackknife is None
    assert [note.severity for note in found.notes if words in note] == ["for the record"]


def test_moments_have_no_rows_to_ask():
    moments = ad.Moments.from_table(table(uneven=3.0))
    notes = [fit(moments, GRAPH, rng=0, robust=robust).effect("x", "y").notes for robust in (True, False)]
    assert any("there are only moments of them here" in note for note in notes[0])
    assert not any("noise was taken for even" in note for note in notes[1])


def test_robust_is_true_or_false():
    with pytest.raises(ad.AlldagsError, match="robust must be True or False"):
        fit(table(), GRAPH, robust="HC3")


def test_a_hidden_cause_needs_less_strength_where_the_interval_is_wider():
    wide, plain = (effect(uneven=3.0, robust=robust).sensitivity() for robust in (True, False))
    assert wide.robustness(0.95).value < plain.robustness(0.95).value
    assert wide.robustness().value == pytest.approx(plain.robustness().value, abs=0.01)


# -- parts -------------------------------------------------------------------------------------------------------------


def test_stretching_keeps_zeros_mean_and_order():
    draws = np.r_[0.0, np.random.default_rng(0).normal(2.0, 0.5, 9999)]
    for freedom in (math.inf, 5.0):
        wider = Stretch(1.5, 2.0, 0.5, freedom)(draws)
        assert wider[0] == 0.0
        assert (np.argsort(wider[1:]) == np.argsort(draws[1:])).all()
        assert np.median(wider) == pytest.approx(np.median(draws), abs=0.01)
    assert Stretch(1.5, 2.0, 0.5)(draws)[1:].std() == pytest.approx(1.5 * draws[1:].std())


def test_rows_must_say_more_than_their_own_error():
    told, untold = (Jackknife("rows", 100, 1.0, 1.2, 1.0, error) for error in (0.1, 0.3))
    assert told.factor == pytest.approx(1.2)
    assert untold.factor == 1.0
    assert Jackknife("clusters", 40, 1.0, 1.2, 1.0, 0.3).factor == pytest.approx(1.2)
    assert Jackknife("rows", 100, 1.0, 0.5, 1.0, 0.1).factor == 1.0


def test_draws_that_are_no_effect_are_left_out():
    graph = ad.CandidateGraph.from_tiers([list(CAUSES), ["x"], ["y"]], 0.5)
    data = table(4)
    data["y"] = data["y"] - 0.45 * data["x"]
    joints = joints_of(fit(data, graph, rng=0).effect("x", "y"))
    assert (joints[0].effect == 0.0).any()
    assert (present(joints) != 0.0).all()
