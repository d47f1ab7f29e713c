"""Data of textbooks on causal inference: the tables that the package causaldata ships."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from alldags.errors import DataError, did_you_mean, missing_extra, require
from alldags.text import some

_PACKAGE = "causaldata"  # also the name of the extra
_READERS = {".csv": "read_csv", ".dta": "read_stata"}


def causaldata(name: str) -> Any:
    """Load a table of the package `causaldata <https://pypi.org/project/causaldata/>`_.

    It ships the tables of *What If* (Hernán and Robins), *The Mixtape* (Cunningham) and *The Effect*
    (Huntington-Klein), such as ``"nhefs"``, ``"nhefs_complete"``, ``"thornton_hiv"``, ``"castle"`` or
    ``"nsw_mixtape"``. Its file is read as it is, without importing that package. Run
    ``pip install 'alldags[causaldata]'`` first.

    Parameters
    ----------
    name
        Name of the table in that package.

    Returns
    -------
    table
        A pandas frame; columns with labelled values are categories.

    Examples
    --------
    >>> import alldags as ad
    >>> table = ad.datasets.causaldata("nhefs_complete")  # doctest: +SKIP
    >>> table.shape, int(table["qsmk"].sum())  # doctest: +SKIP
    ((1566, 67), 403)
    >>> effect = ad.effect(
    ...     table, treatment="qsmk", outcome="wt82_71", rng=0,
    ...     confounders=["sex", "race", "age", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71"],
    ... )  # doctest: +SKIP
    >>> round(effect.mean, 1)  # doctest: +SKIP
    3.4
    """
    files = _files()
    if name not in files:
        known = some((repr(known) for known in files), most=5)
        raise DataError(f"causaldata ships no table {name!r}{did_you_mean(name, files)}; it has {known}")
    pandas: Any = require("pandas", _PACKAGE)
    return getattr(pandas, _READERS[files[name].suffix])(files[name])


def _files() -> dict[str, Path]:
    """Return the file of each table, which lies in a folder of its name."""
    found = find_spec(_PACKAGE)
    if found is None:
        raise missing_extra(_PACKAGE, _PACKAGE)
    folders = [Path(folder) for folder in found.submodule_search_locations or ()]
    files = [file for folder in folders for file in sorted(folder.glob("*/*")) if file.suffix in _READERS]
    return {file.parent.name: file for file in files}
