"""ACIC 2016 challenge data: real covariates, simulated treatment and outcome, both expected outcomes known."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from alldags.datasets.public import TreatmentData, find_file
from alldags.errors import DataError, require
from alldags.typing import FloatArray, RandomSource

ACIC_SETTINGS = (1, 2, 3, 4, 5)


def acic(setting: int = 1, folder: str | os.PathLike[str] | None = None, *, rng: RandomSource = None) -> TreatmentData:
    """Load one of five settings of the ACIC 2016 challenge (Dorie, Hill, Shalit, Scott and Cervone 2019).

    4,802 rows; 58 covariates, of which three are categories, so that there are 79 columns: a category with k letters
    becomes k - 1 columns of zeros and ones, named like ``"x_2=B"``, the first letter being the one left out.

    Parameters
    ----------
    setting
        1 to 5. Covariates are the same in all. In settings 2 and 3 the effect is the same in every row.
    folder
        Local data folder; by default the environment variable ``ALLDAGS_DATA``, else download.
    rng
        Draws both potential outcomes anew: normal around the published means, with the standard deviation of the
        setting's own noise. None for the published outcomes. Covariates and treatment stay as they are.

    Examples
    --------
    >>> import alldags as ad
    >>> data = ad.datasets.acic(4)  # doctest: +SKIP
    >>> data.covariates.shape, round(data.effect_of_means, 2)  # doctest: +SKIP
    ((4802, 79), 4.8)
    """
    if setting not in ACIC_SETTINGS:
        raise DataError(f"ACIC 2016 has settings 1 to 5 here, got {setting}")
    columns, covariates = _covariates(find_file("acic2016/x.csv", folder))
    treatment, outcome0, outcome1, mean0, mean1 = _simulated(find_file(f"acic2016/zymu_{setting}.csv", folder))
    if rng is not None:
        outcome0, outcome1 = redrawn(outcome0, outcome1, mean0, mean1, np.random.default_rng(rng))
    return TreatmentData(
        name=f"ACIC {setting}",
        covariates=covariates,
        treatment=treatment,
        outcome=np.where(treatment > 0, outcome1, outcome0),
        outcome0=outcome0,
        outcome1=outcome1,
        mean0=mean0,
        mean1=mean1,
        columns=columns,
    )


def redrawn(
    outcome0: FloatArray, outcome1: FloatArray, mean0: FloatArray, mean1: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return both potential outcomes with new noise of the same standard deviation, shapes (n,) as given."""
    noise = np.concatenate([outcome0 - mean0, outcome1 - mean1])
    sd = float(np.sqrt(np.mean(noise**2)))
    return mean0 + sd * rng.standard_normal(len(mean0)), mean1 + sd * rng.standard_normal(len(mean1))


@lru_cache(maxsize=1)
def _covariates(path: Path) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and values of the columns, categories as columns of zeros and ones."""
    pandas: Any = require("pandas", "experiments")
    table = pandas.read_csv(path)
    parts = {name: _numbers(name, table[name].to_numpy()) for name in table.columns}
    flat = {name: column for part in parts.values() for name, column in part.items()}
    return tuple(flat), np.column_stack(list(flat.values()))


def _numbers(name: str, column: Any) -> dict[str, FloatArray]:
    if np.issubdtype(column.dtype, np.number):
        return {name: column.astype(float)}
    letters = np.asarray(column, dtype=str)
    return {f"{name}={letter}": (letters == letter).astype(float) for letter in np.unique(letters)[1:].tolist()}


@lru_cache(maxsize=5)
def _simulated(path: Path) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    pandas: Any = require("pandas", "experiments")
    table = pandas.read_csv(path)
    wanted = ["z", "y0", "y1", "mu0", "mu1"]
    if list(table.columns) != wanted:
        raise DataError(f"{str(path)!r} must have the columns {wanted}, it has {list(table.columns)}")
    z, y0, y1, mu0, mu1 = table.to_numpy(dtype=float).T
    return z, y0, y1, mu0, mu1
