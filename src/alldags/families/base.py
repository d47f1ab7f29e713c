"""What every family does, and the rows and points it does it with."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from alldags.errors import DataError
from alldags.families.quadratic import Quadratic
from alldags.priors.grid import Setting
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.data.batches import RowTable
    from alldags.data.levels import Levels


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one child.

    Parameters
    ----------
    columns
        What it is regressed on, in working units about their means, shape (rows, k).
    child
        Shape (rows,).
    offset
        What is added to the predictor, shape (rows,); None for nothing.
    weight
        How many rows each counts as, shape (rows,); None for one.
    read
        The columns that the family reads beside the child, shape (rows,) each.
    """

    columns: FloatArray
    child: FloatArray
    offset: FloatArray | None = None
    weight: FloatArray | None = None
    read: tuple[FloatArray, ...] = ()

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return the predictor without intercept, shape (rows, draws), of coefficients (draws, k)."""
        eta = self.columns @ coefficients.T
        return eta if self.offset is None else eta + self.offset[:, None]

    @property
    def count(self) -> float:
        """How many rows they count as."""
        return float(len(self.child)) if self.weight is None else float(self.weight.sum())

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return numbers of the rows, shape (rows,), times the rows' weights."""
        return values if self.weight is None else values * self.weight

    def products(self, values: FloatArray | None = None) -> FloatArray:
        """Return the sum of ``v z z'``, a one before the columns, shape (k + 1, k + 1); `values` v are 1 if None."""
        factor = values
        if self.weight is not None:
            factor = self.weight if values is None else self.weight * values
        scaled = self.columns if factor is None else self.columns * factor[:, None]
        found = np.empty((scaled.shape[1] + 1,) * 2)
        found[0, 0] = len(self.child) if factor is None else factor.sum()
        found[0, 1:] = found[1:, 0] = scaled.sum(axis=0)
        found[1:, 1:] = scaled.T @ self.columns
        return found

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``v z``, a one before the columns, shape (k + 1,)."""
        own = self.weighted(values)
        return np.concatenate([[own.sum()], self.columns.T @ own])


class Point(NamedTuple):
    """Where a log-likelihood is expanded: intercept and coefficients (k + 1,), noise precision, what is beside (m,).

    What is beside is None where it is not known yet, or there is nothing.
    """

    at: FloatArray
    precision: float = 1.0
    beside: FloatArray | None = None


class Draws(NamedTuple):
    """Draws of a regression: intercept (draws,), coefficients (draws, k) and noise precision (draws,).

    The intercept is that at the means of the columns; the precision is one where the family has no noise of its own.
    What the family has beside its predictor (`alldags.families.quadratic.Beside`) has shape (draws, m); None: nothing.
    """

    intercept: FloatArray
    coefficients: FloatArray
    precision: FloatArray
    beside: FloatArray | None = None


class Completed(NamedTuple):
    """What a family draws by itself, given coefficients.

    Parameters
    ----------
    intercept, beside
        Shape (draws,) and (draws, m).
    log_value
        Log of likelihood and prior of these over the density with which they were drawn, shape (draws,).
    """

    intercept: FloatArray
    beside: FloatArray
    log_value: FloatArray


Values = Callable[[str], FloatArray]
"""From the name of a variable to its values in some rows, after what was set, shape (rows,)."""


class FamilyPart(NamedTuple):
    """One of the regressions that a family is.

    Parameters
    ----------
    family
        Of this part.
    reading
        From the child's values, shape (rows,), to this part's, and to which rows it is about.
    """

    family: Family
    reading: Callable[[FloatArray], tuple[FloatArray, BoolArray]]


class Variant(NamedTuple):
    """A family with one value of what is learned on a grid: that family, its prior probability, and the value."""

    family: Family
    share: float
    value: float


class ChainRows(NamedTuple):
    """The rows as samplers take them: a one before the columns (n, k + 1), child and offset (n,) each."""

    rows: FloatArray
    child: FloatArray
    offset: FloatArray


class ChainPrior(NamedTuple):
    """The prior as samplers take it: of columns, which come and go in groups, and of the slab.

    Parameters
    ----------
    starts
        Where each group begins, and k: shape (groups + 1,).
    log_odds, certain
        Of the group of each column, shape (k,).
    log_size
        Log weight of the number of uncertain groups present, shape (free + 1,).
    slabs, log_slabs
        Slab variances and their log prior weights.
    """

    starts: IntArray
    log_odds: FloatArray
    certain: BoolArray
    log_size: FloatArray
    slabs: FloatArray
    log_slabs: FloatArray


class ChainState(NamedTuple):
    """Where a chain is, changed in place: columns present (k,), intercept and coefficients (k + 1,), slab, noise."""

    present: BoolArray
    z: FloatArray
    place: IntArray
    precision: FloatArray


Advance = Callable[[np.random.Generator, ChainRows, ChainPrior, FloatArray, ChainState, FloatArray], None]
"""Goes on with a chain: generator, rows, prior, information of the quadratic, state, and where steps are written."""


@dataclass(frozen=True)
class Sampler:
    """A sampler of one family's regressions.

    Parameters
    ----------
    name
        What is printed.
    advance
        Goes on with a chain; it writes intercept, coefficients and one over the precision of every step.
    work
        Of one step, relative to summing cross-products of all rows once.
    """

    name: str
    advance: Advance
    work: float = 1.0


class Family(Protocol):
    """How a child's distribution depends on its predictor.

    Of a line the predictor is the mean itself, in working units of the child; of all others the child has its own. What
    has levels has no other values: they are imputed as a category's, and checked along lines.
    """

    name: ClassVar[str]
    measure: ClassVar[str]
    link_words: ClassVar[str]
    is_line: ClassVar[bool]
    has_levels: ClassVar[bool]
    most_k_hat: ClassVar[float]
    complete: ClassVar[bool]
    takes_levels: ClassVar[bool]

    @property
    def predictors(self) -> int:
        """How many predictors there are; each has coefficients of its own of all columns."""

    def labelled(self, child: str, levels: Levels) -> Family:
        """Return the family of a category with its levels; refuse those it cannot have."""

    def by_predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (draws, k) as those of each predictor; with several, these come first."""

    def intercepts(self, first: FloatArray, beside: FloatArray | None) -> FloatArray:
        """Return the intercepts (draws,) of each predictor; with several, these come first."""

    @property
    def offset(self) -> str | None:
        """Column that is added to the predictor, in its own units; None for none."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that are read beside the child, the offset among them; they need not be in the graph."""

    @property
    def parts(self) -> tuple[FamilyPart, ...]:
        """The regressions that it is, if these are several."""

    @property
    def noise_factor(self) -> float:
        """Variance of the noise over one over its precision; nan where the mean is no line in the predictor."""

    def row_factors(self, size: int, rng: np.random.Generator, beside: FloatArray | None = None) -> FloatArray:
        """Return the same for single rows, drawn, shape (size,): normal noise of that variance is the family's.

        What is beside it in these draws has shape (size, m).
        """

    def variants(self, rows: RowSums) -> tuple[Variant, ...]:
        """Return the family with each value of what is learned on a grid; empty if there is nothing."""

    def settled(self, learned: FloatArray | None) -> Family:
        """Return the family with what was learned on a grid at its mean; draws of what is beside it are given."""

    def check(self, child: str, batches: Iterable[FloatArray]) -> Family:
        """Return the family with what it takes from the values; refuse those it cannot have, or that say nothing."""

    def placed(self, child: str, table: RowTable) -> Family:
        """Return the family with what it takes from the rows and columns beside the child, such as cut points."""

    def about(self, child: str, treatment: str, table: RowTable) -> Family:
        """Return the family for questions about one treatment."""

    def prior(self, prior: Prior) -> Prior:
        """Return the prior of the coefficients on the scale of the predictor."""

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return about where the regression with all columns has its mode."""

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the log-likelihood of some rows around a point; `root` see `alldags.families.canonical`."""

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the factor of the last quadratic's information: below one draws reach as far as the posterior does."""

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,)."""

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the mean of the child at a predictor, shape (..., draws).

        What the family has apart from its predictor, shape (m, draws), is what is beside it or, where there is nothing,
        the noise variance.
        """

    def mean_given(self, eta: FloatArray, apart: FloatArray, values: Values) -> FloatArray:
        """Return the mean at predictors (rows, draws), where it also depends on values of variables in the rows."""

    def completed(
        self, batches: Sequence[Batch], coefficients: FloatArray, rng: np.random.Generator
    ) -> Completed | None:
        """Return all but the coefficients, drawn given these, (draws, k); None: as the quadratic says."""

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the value at a level of the distribution at a predictor, shape (..., draws); 0 and 1 for yes/no."""

    def link(self, mean: float) -> float:
        """Return the predictor at which the mean is about this."""

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return derivative and information of each row's log-likelihood by its predictor, at precision one."""

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Return the log-likelihood of each row at precision one, up to what does not depend on its predictor."""

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return a draw of the noise precision given some rows and their predictors, a flat log; one without noise."""

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return between which levels of the distribution at a predictor a value is drawn, shape (..., draws) each."""

    def is_rare(self, quadratic: Quadratic) -> bool:
        """Tell whether so few rows say anything that weights cannot be judged by themselves."""

    def remarks(self, rows: RowSums, draws: Draws) -> tuple[str, ...]:
        """Return what a reader should know of how the family fits; `draws` is one draw, the mean."""

    def sampler(self, settings: Sequence[Setting], *, weighted: bool) -> Sampler | None:
        """Return the sampler for regressions with these hyperparameters, if there is one."""


class Plain:
    """What most families have alike: nothing of the treatment, and no columns but their own and an offset."""

    __slots__ = ()

    name: ClassVar[str]
    complete: ClassVar[bool] = True  # whether values are known in every row; else they are no cause, and have no line
    takes_levels: ClassVar[bool] = False  # whether the child is a category, else a number

    @property
    def predictors(self) -> int:
        """One."""
        return 1

    def labelled(self, child: str, levels: Levels) -> Self:
        """Refuse levels: the child is to be a number."""
        raise DataError(
            f"{child!r} is a category with {len(levels.labels)} levels, which {self.name!r} is not for: use "
            f"{option('families', {child: 'categorical'})}, or make numbers of its levels"
        )

    def by_predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return them as they are."""
        return coefficients

    def intercepts(self, first: FloatArray, beside: FloatArray | None) -> FloatArray:
        """Return the one as it is."""
        del beside
        return first

    @property
    def offset(self) -> str | None:
        """Column that is added to the predictor; None for none."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """The offset, if there is one."""
        return () if self.offset is None else (self.offset,)

    @property
    def parts(self) -> tuple[FamilyPart, ...]:
        """None: it is one regression."""
        return ()

    @property
    def noise_factor(self) -> float:
        """The mean is no line."""
        return math.nan

    def row_factors(self, size: int, rng: np.random.Generator, beside: FloatArray | None = None) -> FloatArray:
        """Return nan: the mean is no line."""
        del rng, beside
        return np.full(size, math.nan)

    def variants(self, rows: RowSums) -> tuple[Variant, ...]:
        """Return nothing."""
        del rows
        return ()

    def settled(self, learned: FloatArray | None) -> Self:
        """Return the family as it is."""
        del learned
        return self

    def placed(self, child: str, table: RowTable) -> Self:
        """Return the family as it is."""
        del child, table
        return self

    def about(self, child: str, treatment: str, table: RowTable) -> Self:
        """Return the family as it is."""
        del child, treatment, table
        return self

    def draw_precision(self, child: FloatArray, eta: FloatArray, rng: np.random.Generator) -> float:
        """Return one: there is no noise."""
        del child, eta, rng
        return 1.0

    def is_rare(self, quadratic: Quadratic) -> bool:
        """Tell that weights can be judged by themselves."""
        del quadratic
        return False

    def remarks(self, rows: RowSums, draws: Draws) -> tuple[str, ...]:
        """Return nothing."""
        del rows, draws
        return ()

    def sampler(self, settings: Sequence[Setting], *, weighted: bool) -> Sampler | None:
        """Return none: weights are near enough."""
        del settings, weighted
        return None

    @abstractmethod
    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the mean of the child at a predictor, shape (..., draws)."""

    def mean_given(self, eta: FloatArray, apart: FloatArray, values: Values) -> FloatArray:
        """Return the mean at predictors, whatever the values."""
        del values
        return self.mean(eta, apart)

    def completed(
        self, batches: Sequence[Batch], coefficients: FloatArray, rng: np.random.Generator
    ) -> Completed | None:
        """Return nothing: all follows the quadratic."""
        del batches, coefficients, rng
        return None


class RowSums(Protocol):
    """What a node that is not normal needs of its rows: sums over them, wherever they are."""

    @property
    def child(self) -> str:
        """Name of the child."""

    @property
    def family(self) -> Family:
        """The child's family."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, k of them."""

    @property
    def count(self) -> float:
        """Number of rows."""

    def batches(self) -> Sequence[Batch]:
        """Return the rows, batch by batch; refused where they are elsewhere."""

    def totals(self) -> tuple[float, float]:
        """Return the sum of the child, and of what its mean is in proportion to without causes."""

    def quadratic(self, point: Point, root: FloatArray | None = None) -> Quadratic:
        """Return the log-likelihood around a point."""

    def log_likelihoods(self, draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,)."""

    def squared_residuals(self, draws: Draws) -> float:
        """Return the sum of squared residuals of one draw over their variance (Pearson)."""
