"""What is installed, for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

CORE = (
    "numpy", "scipy", "numba", "narwhals", "networkx", "joblib", "threadpoolctl", "arviz-stats", "rich", "cyclopts",
)  # fmt: skip
EXTRAS = (
    "matplotlib", "jinja2", "arviz-base", "xarray", "pyarrow", "polars", "scikit-learn", "pooch", "pandas",
    "openpyxl", "pyreadstat", "dask", "distributed", "pyspark", "causaldata",
)  # fmt: skip


def versions(own: str) -> dict[str, Any]:
    """Return the versions of this package, of Python and of every package it may use; None for those not installed.

    Examples
    --------
    >>> from alldags.versions import versions
    >>> found = versions("0.2.0")
    >>> found["alldags"], sorted(found)
    ('0.2.0', ['alldags', 'packages', 'platform', 'python', 'schema'])
    """
    return {
        "schema": "alldags.version/1",
        "alldags": own,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in (*CORE, *EXTRAS)},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
