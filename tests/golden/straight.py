"""Answers of straight, normal regressions as version 0.2 gave them: `python tests/golden/straight.py` writes the file.

They are kept to the last bit. Loops that vectorise add up in an order that the processor chooses, so that the test
allows for rounding; with ALLDAGS_BITS=1 it allows for none, which checks a change of the house on one machine. Version
0.2 took noise for even, and so do these fits.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import alldags as ad
from lines import fit

TARGET = Path(__file__).with_suffix(".json")
ROWS = 160


def table(seed: int) -> dict[str, Any]:
    """Return a made-up study: two covariates, a category, a treatment, two variables in between, an outcome."""
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(ROWS)
    income = 0.3 * age + rng.standard_normal(ROWS)
    region = rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])
    treat = (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-0.6 * age))).astype(float)
    first = 0.8 * treat + 0.4 * age + rng.standard_normal(ROWS)
    second = 0.5 * first + rng.standard_normal(ROWS)
    outcome = (
        0.5 * treat + 0.5 * first + 0.4 * age + np.array([0.0, 0.8, -0.8, 1.2])[region] + rng.standard_normal(ROWS)
    )
    return {
        "age": age,
        "income": income,
        "region": np.array(list("abcd"))[region],
        "treat": treat,
        "first": first,
        "second": second,
        "outcome": outcome,
        "site": rng.integers(0, 20, ROWS),
        "count": rng.integers(1, 4, ROWS).astype(float),
        "weight": rng.uniform(1.0, 3.0, ROWS),
        "set": np.where(rng.random(ROWS) < 0.3, "first", ""),
    }


def graph(*, category: bool = False, within: float | None = None) -> ad.CandidateGraph:
    """Return the study's candidate graph."""
    tiers = [["age", "income", *(["region"] if category else [])], ["treat"], ["first", "second"], ["outcome"]]
    return ad.CandidateGraph.from_tiers(tiers, 0.5, within=None if within is None else [None, None, within, None])


def cases() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield name, graph and options of every fit."""
    plain = graph()
    yield "plain", plain, {}
    for name in ("exact", "certified", "mcmc", "k2", "full", "vb", "em", "gibbs"):
        yield f"engine {name}", plain, {"engine": name}
    yield "paper", plain, {"prior": ad.Prior.paper()}
    yield "fixed slab", plain, {"prior": ad.Prior(slab_variance=0.5)}
    yield "hyper-g", plain, {"prior": ad.Prior(slab=ad.priors.HyperG())}
    yield "shared slab", plain, {"prior": ad.Prior(slab=ad.priors.LearnedSlab(shared=True))}
    yield "beta-binomial", plain, {"prior": ad.Prior(edges=ad.priors.BetaBinomial())}
    yield "no link", plain, {"prior": ad.Prior(link=0.0)}
    yield "frequency weights", plain, {"weights": "count"}
    yield "sampling weights", plain, {"weights": "weight", "weight_kind": "sampling"}
    yield "experiments", plain, {"interventions": "set"}
    yield "randomized", plain, {"randomized": "treat"}
    yield "imputed", plain, {"missing": "impute", "imputations": 4}
    yield "open", graph(within=0.5), {}
    yield "several graphs", [plain, plain.without_edge("income", "outcome")], {}
    yield (
        "weights, experiments, several graphs",
        [plain, plain.without_edge("age", "outcome")],
        {
            "weights": "count",
            "interventions": "set",
        },
    )


def answers(name: str, where: Any, options: dict[str, Any]) -> list[float]:
    """Return the numbers that one fit gives."""
    data = table(11)
    if name == "imputed":
        data["income"] = np.where(np.random.default_rng(3).random(ROWS) < 0.15, np.nan, data["income"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = fit(data, where, families="normal", rng=5, **({"robust": False} | options))
        effect = posterior.effect("treat", "outcome")
        edges = posterior.edge_probabilities()
        found = [effect.mean, effect.sd, effect.uncertainty.structure, *effect.interval(), effect.probability_no_effect]
        found += [effect.uncertainty.mean_error, effect.draws(50, rng=1).sum()]
        found += [math.nan if name == "experiments" else posterior.effects_sd()["age", "outcome"]]
        found += edges["posterior" if "posterior" in edges.columns else "shrinkage"]
    return [float("nan") if value is None else float(value) for value in found]


def main() -> None:
    """Write the file."""
    found = {name: [value.hex() for value in answers(name, *rest)] for name, *rest in cases()}
    TARGET.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
