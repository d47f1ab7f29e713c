"""Loaders of experiments: protein signalling (Sachs et al. 2005) and job training (LaLonde 1986)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from alldags.data.csv_plain import read_csv_plain
from alldags.datasets.public import find_file
from alldags.errors import DataError, require
from alldags.typing import FloatArray

PROTEINS = ("raf", "mek", "plc", "pip2", "pip3", "erk", "akt", "pka", "pkc", "p38", "jnk")
LalondeSample = Literal["nsw", "nsw_dw", "psid", "cps"]
_LALONDE = ("treat", "age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75", "re78")


@dataclass(frozen=True, eq=False)
class Signalling:
    """Concentrations of eleven proteins in 7,466 cells, under nine conditions.

    Parameters
    ----------
    table
        Logarithms of the concentrations by protein, shape (7466,) each; ``condition``; and ``target``, the protein that
        the condition acts on directly, empty for none.
    reference
        Edges of a graph that biologists agree on, as (cause, effect); 20 of them.
    """

    table: dict[str, Any]
    reference: tuple[tuple[str, str], ...]

    @property
    def proteins(self) -> tuple[str, ...]:
        """Names of the proteins."""
        return PROTEINS


def sachs(folder: str | os.PathLike[str] | None = None) -> Signalling:
    """Load the protein signalling data of Sachs, Perez, Pe'er, Lauffenburger and Nolan (2005).

    Read from ``sachs/sachs_2005.csv`` and ``sachs/sachs_edges.csv`` in a local data folder: the folder given, or the
    environment variable ``ALLDAGS_DATA``.

    Examples
    --------
    >>> import alldags as ad
    >>> data = ad.datasets.sachs()  # doctest: +SKIP
    >>> len(data.table["raf"]), len(data.reference)  # doctest: +SKIP
    (7466, 20)
    """
    cells = read_csv_plain(find_file("sachs/sachs_2005.csv", folder))
    edges = read_csv_plain(find_file("sachs/sachs_edges.csv", folder))
    table: dict[str, Any] = {name: np.log(cells[name]) for name in PROTEINS}
    table |= {name: cells[name].astype(object) for name in ("condition", "target")}
    rows = zip(edges["cause"].tolist(), edges["effect"].tolist(), edges["cmu"].tolist(), strict=True)
    return Signalling(table, tuple((cause, effect) for cause, effect, member in rows if member))


def lalonde(sample: LalondeSample = "nsw", folder: str | os.PathLike[str] | None = None) -> dict[str, FloatArray]:
    """Load the National Supported Work demonstration (LaLonde 1986), a randomised trial of job training.

    Earnings in dollars: ``re74`` and ``re75`` before, ``re78`` after; ``treat`` and six covariates. The difference of
    mean earnings in 1978 is 886 in the whole trial, and 1,794 among the men whose earnings in 1974 are known.

    Parameters
    ----------
    sample
        ``"nsw"``: the trial, 722 men, with ``re74`` missing where it is not known; ``"nsw_dw"``: the 445 of them for
        whom it is (Dehejia and Wahba 1999); ``"psid"``, ``"cps"``: 2,490 and 15,992 men from surveys, none of them
        treated.
    folder
        Local data folder; by default the environment variable ``ALLDAGS_DATA``, else download.

    Returns
    -------
    table
        A mapping from names to columns, shape (rows,) each.

    Examples
    --------
    >>> import alldags as ad
    >>> import numpy as np
    >>> trial = ad.datasets.lalonde()  # doctest: +SKIP
    >>> len(trial["treat"]), int(np.isnan(trial["re74"]).sum())  # doctest: +SKIP
    (722, 277)
    """
    if sample not in get_args(LalondeSample):
        raise DataError(f"sample must be one of {get_args(LalondeSample)}, got {sample!r}")
    frame = _read(f"{sample}{'' if sample.startswith('nsw') else '_controls'}", folder)
    if sample == "nsw":
        frame = _with_earlier_earnings(frame, _read("nsw_dw", folder))
    return {name: frame[name].to_numpy(dtype=float) for name in _LALONDE}


def _read(name: str, folder: str | os.PathLike[str] | None) -> Any:
    pandas: Any = require("pandas", "experiments")
    return pandas.read_stata(find_file(f"lalonde/{name}.dta", folder))


def _with_earlier_earnings(trial: Any, known: Any) -> Any:
    """Return the trial with earnings of 1974 where they are known; men who are alike are matched in their order."""
    keys = [name for name in _LALONDE if name != "re74"]
    numbered = [frame.assign(copy=frame.groupby(keys).cumcount()) for frame in (trial, known)]
    return numbered[0].merge(numbered[1][[*keys, "copy", "re74"]], on=[*keys, "copy"], how="left")
