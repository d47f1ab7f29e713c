"""Studies of textbooks: answers are those of the regressions that the books fit, computed here by other means."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("causaldata") is None, reason="the data come with the package causaldata"
)

CATEGORIES = ["sex", "race", "education", "exercise", "active"]
NUMBERS = ["age", "wt71", "smokeintensity", "smokeyrs"]
TERMS = [*(f"{name}^2" for name in NUMBERS), "qsmk*smokeintensity"]


# -- What If, chapters 13 and 15: giving up smoking, and weight --------------------------------------------------------


def book_design(table, treatment):
    """Return the columns of the book's outcome model with everyone's treatment as told, shape (rows, 21)."""
    intensity = table["smokeintensity"].to_numpy()
    columns = [np.ones(len(table)), treatment, treatment * intensity]
    columns += [table[name].to_numpy() ** power for name in NUMBERS for power in (1, 2)]
    columns += [table[name] == level for name in CATEGORIES for level in table[name].cat.categories[1:]]
    return np.column_stack(columns).astype(float)


def book_effect(table):
    """Return the mean difference of predictions, its error by even noise, and by noise of each row's own size."""
    design = book_design(table, table["qsmk"].to_numpy())
    outcome = table["wt82_71"].to_numpy()
    coefficients = np.linalg.lstsq(design, outcome, rcond=None)[0]
    step = np.mean(book_design(table, np.ones(len(table))) - book_design(table, np.zeros(len(table))), axis=0)
    rest, inverse = outcome - design @ coefficients, np.linalg.inv(design.T @ design)
    influence = design @ inverse @ step
    variance = rest @ rest / (len(rest) - design.shape[1])
    return step @ coefficients, np.sqrt(variance * step @ inverse @ step), np.sqrt(np.sum((influence * rest) ** 2))


def test_the_books_model_of_weight_is_least_squares_with_its_squares_and_product():
    table = ad.datasets.causaldata("nhefs_complete")
    estimate, even, uneven = book_effect(table)
    assert estimate == pytest.approx(3.5, abs=0.05)  # as printed in the book
    graph = ad.CandidateGraph.from_tiers([[*CATEGORIES, *NUMBERS], ["qsmk"], ["wt82_71"]], 1.0)
    asked = {"terms": {"wt82_71": dict.fromkeys(TERMS, 1.0)}, "prior": ad.Prior(slab_variance=1e6), "rng": 0}
    plain = ad.fit(table, graph, robust=False, **asked).effect("qsmk", "wt82_71")
    assert plain.mean == pytest.approx(estimate, abs=1e-6 * even)
    assert plain.sd == pytest.approx(even, rel=0.03)  # by draws
    wide = ad.fit(table, graph, **asked).effect("qsmk", "wt82_71")
    assert wide.mean == pytest.approx(estimate, abs=1e-6 * even)
    assert wide.sd == pytest.approx(uneven, rel=0.05)
    assert wide.interval() == pytest.approx((2.6, 4.5), abs=0.15)  # as printed in the book


# -- Thornton (2008): a reward for fetching a test result, offered within villages -------------------------------------

COVARIATES = ["distvct", "age", "hiv2004"]


def clustered_logit(table):
    """Return the average marginal effect of a logit, and its error by the sandwich over villages."""
    design = np.column_stack([np.ones(len(table)), table["any"], table[COVARIATES]]).astype(float)
    outcome, beta = table["got"].to_numpy(), np.zeros(design.shape[1])
    for _ in range(25):
        fitted = expit(design @ beta)
        inverse = np.linalg.inv((design.T * (fitted * (1.0 - fitted))) @ design)
        beta = beta + inverse @ design.T @ (outcome - fitted)
    means, slopes = zip(*(_mean_under(design, beta, level) for level in (0.0, 1.0)), strict=True)
    scores = (design * (outcome - expit(design @ beta))[:, None]) @ inverse @ (slopes[1] - slopes[0])
    villages = np.unique(table["villnum"].to_numpy(), return_inverse=True)[1]
    sums = np.bincount(villages, scores)
    return means[1] - means[0], np.sqrt(sums @ sums * len(sums) / (len(sums) - 1))


def _mean_under(design, beta, level):
    """Return the mean probability when all have one level, and its derivatives by the coefficients."""
    told = design.copy()
    told[:, 1] = level
    fitted = expit(told @ beta)
    return fitted.mean(), (fitted * (1.0 - fitted)) @ told / len(told)


def test_a_yes_no_outcome_in_villages_is_the_cluster_robust_logit():
    table = ad.datasets.causaldata("thornton_hiv")[["villnum", "any", "got", *COVARIATES]].dropna()
    estimate, error = clustered_logit(table)
    graph = ad.CandidateGraph.from_tiers([COVARIATES, ["any"], ["got"]], 1.0)
    prior = ad.Prior(slab_variance=100.0)
    effect = ad.fit(table, graph, prior=prior, cluster="villnum", terms=None, rng=0).effect("any", "got")
    assert effect.mean == pytest.approx(estimate, abs=0.02 * error)
    assert effect.sd == pytest.approx(error, rel=0.03)
    assert "119 clusters" in str(effect)
    curved = ad.fit(table, graph, cluster="villnum", rng=0).effect("any", "got")  # curves where the data want them
    assert curved.mean == pytest.approx(estimate, abs=0.5 * error)
    assert curved.sd == pytest.approx(error, rel=0.15)


# -- as a newcomer asks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "expected", "away"), [("wt82_71", 3.3, 0.3), ("death", -0.003, 0.02)], ids=["weight", "death"]
)
def test_the_front_door_takes_the_whole_table_as_it_comes(outcome, expected, away):
    """Labels '0' and '1', gaps in covariates and in the outcome: no refusal, one screen."""
    confounders = [*CATEGORIES, *NUMBERS, "income", "cholesterol"]
    table = ad.datasets.causaldata("nhefs")
    asked = {"treatment": "qsmk", "outcome": outcome, "confounders": confounders, "missing": "impute"}
    effect = ad.effect(table, **asked, rng=0)
    assert effect.mean == pytest.approx(expected, abs=away)
    low, high = effect.interval()
    assert low < expected < high
    shown = str(effect).splitlines()
    assert len(shown) <= 14
    assert max(map(len, shown)) <= 80
    assert any(line.startswith("! ") and "1,629" in line for line in shown)  # gaps are told
