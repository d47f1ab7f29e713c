"""``python -m calibration.refits [--sets 20]``: the jackknife beside refits of resampled clusters, its slow twin.

As many clusters as there are, drawn with replacement, make a table of their own; how the posterior mean varies over
such tables is what the jackknife computes from one fit. Refits learn anew what drives the treatment; it holds that.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import alldags as ad
from alldags.data.rows import RowGroups
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsWarning, DataError, PriorError
from alldags.models.components import on_other_data
from alldags.nodes.data import WorkingData, working_rows
from calibration.lines import fit
from calibration.rows import CLUSTER_GRAPH, schools

CERTAIN = CLUSTER_GRAPH.with_edge("x", "y", 1.0)


def resampled(rows: RowGroups, rng: np.random.Generator) -> RowGroups:
    """Return as many clusters as there are, drawn with replacement."""
    count = len(rows.clusters)
    return rows.repeated(np.bincount(rng.integers(count, size=count), minlength=count))


def tables(effect: ad.Effect, count: int, rng: np.random.Generator) -> Iterator[WorkingData]:
    """Yield tables of resampled clusters in working units."""
    clusters, model = effect.posterior.clusters, effect.posterior.workings.models.items[0]
    assert clusters is not None
    for _ in range(count):
        rows = resampled(clusters.tables[0], rng)
        try:
            fresh = working_rows(rows, model.prior, model.data.pooled.names, model.data.scale)
        except DataError:
            continue  # a variable that does not vary in the clusters drawn
        yield replace(fresh, levels=model.data.levels)


def refits(effect: ad.Effect, count: int = 200, seed: int = 0) -> float:
    """Return the standard deviation of the posterior mean of a straight effect over resampled clusters."""
    workings, means = effect.posterior.workings, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlldagsWarning)
        for data in tables(effect, count, np.random.default_rng(seed)):
            models = on_other_data(workings.models, [data], workings.store.empty())
            linked = models.map(lambda model: model.about(effect.treatment)) if workings.link else models
            try:
                totals = linked.map(lambda model: TotalEffect.of(model, effect.treatment, effect.outcome))
                means.append(effect.workings.unit * totals.average(lambda total: total.mean))
            except (DataError, PriorError):
                continue
    number = len(effect.posterior.clusters.tables[0].clusters) if effect.posterior.clusters else 2
    return float(np.std(means, ddof=1) * np.sqrt(number / (number - 1)))


def log_ratios(sets: int, count: int = 200, first: int = 0) -> list[float]:
    """Return the log ratio of jackknife and refits for so many data sets, half with whole schools treated."""
    found = []
    for seed in range(first, first + sets):
        table = schools(np.random.default_rng(seed), 0.3, by_school=seed % 2 == 0)
        effect = fit(table, CERTAIN, rng=seed, cluster="school").effect("x", "y")
        assert effect.uncertainty.clusters is not None
        found.append(float(np.log(effect.uncertainty.clusters.sd_clusters / refits(effect, count, seed))))
    return found


def main() -> None:
    """Print the root mean square of the log ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--refits", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=10_000)
    options = parser.parse_args()
    found = np.array(log_ratios(options.sets, options.refits, options.first_seed))
    print(f"{options.sets} data sets, {options.refits} refits each: rms log ratio {np.sqrt(np.mean(found**2)):.3f}, "
          f"mean {found.mean():+.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
