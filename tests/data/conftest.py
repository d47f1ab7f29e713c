from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

MAKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": lambda columns: pa.table(dict(columns)),
}


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[[Mapping[str, Any]], Any]:
    """Build a frame from a mapping of columns, once in each library."""
    return MAKERS[request.param]
