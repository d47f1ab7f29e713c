"""An effect as an estimator of scikit-learn's kind: `clone`, `get_params`, `fit`, `predict`, and `effect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import DataError, require
from alldags.front import effect as front_door
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_base: Any = require("sklearn.base", "sklearn")
_OUTCOME = "outcome"


class EffectRegressor(_base.RegressorMixin, _base.BaseEstimator):  # type: ignore[misc]
    """The effect of one column of X on y, all other columns being confounders unless they are named as mediators.

    Parameters
    ----------
    treatment
        Name of a column of X, or its place, 0 for the first.
    mediators
        Columns of X, by name or place, that the treatment may act on.
    options
        What `alldags.effect` takes beside: ``{"terms": None}``, ``{"families": {"outcome": "poisson"}}`` (y is called
        "outcome" in it).
    random_state
        Seed; None for another one each time.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.scikit import EffectRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3))
    >>> y = 2.0 * X[:, 0] + X[:, 1] + rng.standard_normal(300)
    >>> model = EffectRegressor(treatment=0, options={"terms": None}, random_state=0).fit(X, y)
    >>> print(f"{model.effect().mean:.1f} {model.score(X, y):.1f}")
    2.0 0.8
    """

    def __init__(
        self,
        treatment: str | int = 0,
        mediators: Sequence[str | int] = (),
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.treatment = treatment
        self.mediators = mediators
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> EffectRegressor:  # noqa: N803
        """Fit all graphs in which X may act on y; X of shape (rows, columns), y (rows,)."""
        columns = _columns(X)
        names = tuple(columns)
        if _OUTCOME in columns:
            raise DataError(f"X has a column {_OUTCOME!r}, which is what y is called here; rename it")
        treatment, *mediators = (_name(one, names) for one in (self.treatment, *self.mediators))
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self.effect_ = front_door(
            {**columns, _OUTCOME: np.asarray(y)},
            treatment=treatment,
            outcome=_OUTCOME,
            confounders=[name for name in names if name not in (treatment, *mediators)],
            mediators=mediators,
            **{"rng": self.random_state, **(self.options or {})},
        )
        return self

    def effect(self, X: Any = None) -> Effect | FloatArray:  # noqa: N803
        """Return the `alldags.Effect` of all rows, with its interval and notes; of rows X, the mean effect of each."""
        found = self._fitted()
        return found if X is None else _means(found.by(_columns(X, self.feature_names_in_)))

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the mean outcome of rows X as they are, shape (rows,); of a yes/no outcome its probability."""
        found = self._fitted()
        return _means(found.posterior.predict(_columns(X, self.feature_names_in_), outcome=_OUTCOME))

    def _fitted(self) -> Effect:
        validation: Any = require("sklearn.utils.validation", "sklearn")
        validation.check_is_fitted(self)
        found: Effect = self.effect_
        return found


def _columns(rows: Any, known: Any = None) -> dict[str, Any]:
    """Return the columns of a frame by name; those of an array are called x0, x1, ..., as scikit-learn does."""
    if hasattr(rows, "columns"):
        found = {str(name): rows[name] for name in rows.columns}
    else:
        matrix = np.asarray(rows)
        if matrix.ndim != 2:
            raise DataError(
                f"X must have rows and columns, got shape {matrix.shape}; a single column is X.reshape(-1, 1)"
            )
        found = {f"x{place}": matrix[:, place] for place in range(matrix.shape[1])}
    if known is not None and list(found) != list(known):
        raise DataError(f"X has the columns {list(found)}, the model was fitted to {list(known)}; give it those")
    return found


def _name(column: str | int, names: Sequence[str]) -> str:
    if isinstance(column, str) and column in names:
        return column
    if not isinstance(column, str) and 0 <= column < len(names):
        return names[column]
    raise DataError(f"{column!r} is no column of X; it has {', '.join(map(repr, names[:10]))}")


def _means(table: Any) -> FloatArray:
    return np.array(table["mean"], dtype=np.float64)
