"""Clusters: what rows that belong together do to an answer.

The model takes rows for independent. Where they are not (pupils of a school, visits of a patient, copies of a row), the
evidence is counted several times over, and intervals are too narrow. How much can be seen without a model of the
dependence: by how far the answer moves with the weight of each cluster (`alldags.effects.jackknife`). The effect, given
that there is one, is as uncertain as that shows; the probability that there is none takes rows for independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alldags.data.rows import RowGroups
from alldags.effects.jackknife import Jackknife
from alldags.notes import Note


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """The standard deviation of an effect, with rows taken for independent and by how clusters vary.

    Parameters
    ----------
    clusters
        Their number.
    sd_independent
        Posterior standard deviation with rows taken for independent, in units of the effect.
    sd_clusters
        Standard deviation of the posterior mean over other samples of clusters, in units of the effect; by the
        jackknife, given that there is an effect.
    design_effect
        How many rows say as much as one that stands alone, at least 1: the square of how much wider the answer is.
    """

    clusters: int
    sd_independent: float
    sd_clusters: float
    design_effect: float

    @classmethod
    def of(cls, check: Jackknife) -> ClusterCheck:
        """Return what the jackknife found."""
        return cls(check.pieces, check.sd, check.sd_pieces, check.factor**2)

    @property
    def ratio(self) -> float:
        """How many times as large the standard deviation is over clusters."""
        return self.sd_clusters / self.sd_independent if self.sd_independent > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Clusters:
    """The rows of a fit by cluster.

    Parameters
    ----------
    tables
        The rows of each completed table; one, unless values were imputed.
    """

    tables: Sequence[RowGroups]

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.tables[0].clusters)


def clusters_note(clusters: Clusters | None) -> tuple[Note, ...]:
    """Say what is asked of clusters, and what is not."""
    if clusters is None:
        return ()
    text = (
        f"{clusters.count:,} clusters: each effect is as uncertain as they show it to be; the probability of no effect,"
        " edge probabilities and other tables of the whole fit take rows for independent"
    )
    return (Note(text),)
