"""A category as the child of a regression: its columns one below the other, one group of coefficients for each cause.

The columns of a category have variance one and no correlation, and which of them stands for what depends on the
reference level. With noise of one variance in all of them and one slab, the evidence of a set of causes is the same for
every choice of the reference: it depends on the sum, over columns, of what the set explains. A cause is present for
all columns or for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.nodes.build import NodeTerms, Sums, assembled
from alldags.nodes.data import ChildData
from alldags.nodes.onto import ParentsPosterior
from alldags.nodes.problem import NodeProblem
from alldags.priors.prior import Prior
from alldags.typing import FloatArray


def stacked_problem(data: ChildData, terms: NodeTerms, columns: Sequence[str], prior: Prior) -> NodeProblem:
    """Return the regression of all columns of a category at once.

    Parameters
    ----------
    data
        Moments of its rows.
    terms
        One for each column of the causes, k of them.
    columns
        Those of the category, m of them.
    prior
        Of the node.

    Returns
    -------
    NodeProblem
        With k m terms: each column of the causes once for each of the category.
    """
    causes, own = [data.index[name] for name in terms.names], [data.index[name] for name in columns]
    count = len(columns)
    sums = Sums(
        gram=np.asarray(np.kron(data.scatter[np.ix_(causes, causes)], np.eye(count)), dtype=np.float64),
        cross=data.scatter[np.ix_(causes, own)].ravel(),
        total=float(data.scatter[own, own].sum()),
        n=data.n * count,
        rows=data.rows * count,
    )
    return assembled(replace(repeated(terms, columns), raised=None), sums, prior)


def repeated(terms: NodeTerms, columns: Sequence[str]) -> NodeTerms:
    """Return the terms once for each column of the category, or each predictor; those of one cause are a group."""
    count, groups = len(columns), terms.groups or tuple(range(len(terms.names)))
    return replace(
        terms,
        names=names_on(terms.names, columns),
        probability=tuple(p for p in terms.probability for _ in range(count)),
        raised=None if terms.raised is None else tuple(p for p in terms.raised for _ in range(count)),
        groups=tuple(group for group in groups for _ in range(count)),
    )


def names_on(names: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each coefficient: of each column of the causes on each of the category, or predictor."""
    return tuple(f"{name} on {column}" for name in names for column in columns)


class CategoryPosterior(ParentsPosterior):
    """What acts on a category: one probability for each candidate cause.

    No coefficient is one number, so that nothing can be carried through it: moments and draws are not numbers. Its
    evidence is left out, which is the same in all graphs that agree on what may act on it.
    """

    log_evidence = 0.0
    noise_variance = float("nan")

    @cached_property
    def mean(self) -> FloatArray:
        return np.full(self.problem.k, np.nan)

    @cached_property
    def second_moment(self) -> FloatArray:
        return np.full((self.problem.k, self.problem.k), np.nan)

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        return None if self.columns.second_moment_between is None else self.second_moment

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        del parent, present
        return None

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        del rng
        return np.full((size, self.problem.k), np.nan), np.full(size, np.nan)


class LevelsPosterior(CategoryPosterior):
    """What acts on a category whose levels have probabilities: as above, with its evidence."""

    @property
    def log_evidence(self) -> float | None:  # type: ignore[override]
        """Log marginal likelihood of the levels, averaged over parent sets."""
        return self.columns.log_evidence
