"""Columns that are measured with error."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad

GRAPH = ad.CandidateGraph.from_tiers([["c"], ["t"], ["y"]], probability=1.0)


def table(seed: int, rows: int = 500, reliability: float = 0.7) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(rows)
    t = 0.6 * c + 0.8 * rng.standard_normal(rows)
    y = 0.5 * t + 0.6 * c + rng.standard_normal(rows)
    wrong = np.sqrt((1.0 - reliability) / reliability)
    return {"c": c + wrong * rng.standard_normal(rows), "t": t + wrong * rng.standard_normal(rows), "y": y}


def corrected(study: dict[str, np.ndarray], share: float) -> tuple[float, float]:
    """Return the estimate of Fuller (1987) with known reliabilities, and its sandwich standard error."""
    x = np.column_stack([study["t"], study["c"]])
    x, y = x - x.mean(axis=0), study["y"] - study["y"].mean()
    error = np.diag(share * x.var(axis=0, ddof=1))
    inside = x.T @ x - (len(x) - 1) * error
    slope = np.linalg.solve(inside, x.T @ y)
    score = x * (y - x @ slope)[:, None] + error @ slope
    half = np.linalg.solve(inside, score.T)
    return float(slope[0]), float(np.sqrt((half @ half.T)[0, 0]))


def test_certain_edges_and_a_wide_slab_give_the_textbook_estimate_with_its_standard_error():
    study = table(0)
    said = {"t": 0.7, "c": 0.7}
    effect = ad.fit(study, GRAPH, prior=ad.Prior(slab_variance=1e8), reliability=said, rng=0).effect("t", "y")
    mean, error = corrected(study, 0.3)
    assert effect.mean == pytest.approx(mean, abs=1e-6)
    assert effect.sd == pytest.approx(error, rel=0.03)


def test_the_error_may_be_said_in_the_units_of_the_variable():
    study = table(1)
    sd = np.sqrt(0.3) * study["t"].std(ddof=1)
    one = ad.fit(study, GRAPH, error_sd={"t": sd}, rng=0).effect("t", "y")
    other = ad.fit(study, GRAPH, reliability={"t": 0.7}, rng=0).effect("t", "y")
    assert one.mean == pytest.approx(other.mean, rel=1e-12)


def test_perfect_columns_change_nothing():
    study = table(2)
    one = ad.fit(study, GRAPH, reliability={"t": 1.0}, rng=0).effect("t", "y")
    other = ad.fit(study, GRAPH, terms=None, rng=0).effect("t", "y")
    assert one.mean == other.mean


def test_an_effect_attenuated_by_error_is_found_and_its_interval_holds_it():
    """60 tables: 95% intervals hold in 92 to 98% of more; a variance too small by 1.3 would show."""
    found = []
    for seed in range(60):
        effect = ad.fit(table(100 + seed), GRAPH, reliability={"t": 0.7, "c": 0.7}, rng=0).effect("t", "y")
        found.append((effect.mean, effect.sd))
    mean, sd = np.array(found).T
    assert abs(mean.mean() - 0.5) < 0.05
    assert 0.8 < np.sqrt((sd**2).mean()) / mean.std() < 1.3
    plain = [ad.fit(table(100 + seed), GRAPH, terms=None, rng=0).effect("t", "y").mean for seed in range(10)]
    assert np.mean(plain) < 0.45  # attenuated


def test_a_saved_posterior_gives_the_same_answer(tmp_path):
    posterior = ad.fit(table(3), GRAPH, reliability={"t": 0.8}, rng=0)
    posterior.save(tmp_path / "study.npz")
    one, other = (item.effect("t", "y") for item in (posterior, ad.load(tmp_path / "study.npz")))
    assert (one.mean, one.answer.sd) == (other.mean, other.answer.sd)


def test_the_answer_says_so_and_curves_are_left_out():
    effect = ad.fit(table(4), GRAPH, reliability={"t": 0.8}, rng=0).effect("t", "y")
    assert "taken as measured with error: t (reliability 0.8)" in str(effect)
    assert any("curves were not looked for" in note for note in effect.notes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reliability": {"q": 0.8}}, "reliability is said of 'q', which is not in the graph"),
        ({"reliability": {"t": 1.2}}, "reliability of 't' must be above 0 and at most 1, got 1.2"),
        (
            {"reliability": {"t": ["s1", "s2"]}},
            "reliability of 't' must be a number, .* put the mean into the column 't'",
        ),
        ({"error_sd": {"t": 0.0}}, "error_sd of 't' must be positive, got 0.0"),
        ({"reliability": 0.8}, "reliability must be a mapping such as {'x': 0.8}, got 0.8"),
        ({"reliability": {"t": 0.8}, "error_sd": {"t": 1.0}}, "'t' stands in both reliability and error_sd"),
        ({"reliability": {"t": 0.1, "c": 0.1}}, "so much error cannot be"),
        ({"reliability": {"t": 0.8}, "robust": False}, "robust=False do not go together"),
    ],
)
def test_what_is_wrong_is_said_by_name(options, words):
    with pytest.raises(ad.AlldagsError, match=words):
        ad.fit(table(5), GRAPH, rng=0, **options)


def test_the_least_reliability_that_is_advised_is_taken():
    study = table(6)
    with pytest.raises(ad.AlldagsError, match="least reliability") as refused:
        ad.fit(study, GRAPH, reliability={"t": 0.1, "c": 0.1}, rng=0)
    said = [float(word) for word in str(refused.value).split() if word.startswith("0.")]
    assert ad.fit(study, GRAPH, reliability={"t": said[0], "c": said[1]}, rng=0).effect("t", "y").sd > 0


def test_errors_in_what_has_two_values_are_refused():
    study = table(7)
    study["t"] = (study["t"] > 0) * 1.0
    with pytest.raises(ad.AlldagsError, match="'t' is yes/no, and errors in it are not those of a number"):
        ad.fit(study, GRAPH, reliability={"t": 0.8}, families="normal", rng=0)


def test_errors_where_columns_follow_from_each_other_are_refused():
    rng = np.random.default_rng(0)
    few = dict(zip("xyz", rng.standard_normal((3, 3)), strict=True))  # three rows: a plane
    graph = ad.CandidateGraph.from_order(list("xyz"), 0.5)
    for engine in ("exact", "mcmc"):
        with pytest.raises(ad.AlldagsError, match="so much error cannot be"):
            ad.fit(few, graph, reliability={"y": 0.8}, engine=engine, terms=None)
    a, b = rng.standard_normal((2, 50))
    copies = {"x": a, "y": b, "z": b.copy(), "w": a + b + rng.standard_normal(50)}
    found = ad.fit(copies, ad.CandidateGraph.from_order(list("xyzw"), 0.5), reliability={"x": 0.8}, terms=None, rng=0)
    assert np.isfinite(found.effect("x", "w").mean)
