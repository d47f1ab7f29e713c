"""Shared options and fixtures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from slow_tests import function, read_list


def pytest_configure() -> None:
    """Text is compared as on a terminal of 80 columns, whatever the tests themselves run on."""
    os.environ["COLUMNS"] = "80"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calibrate", action="store_true", help="run calibration tests with many more replications")
    parser.addoption("--quick", action="store_true", help="leave out what tests/slow.txt lists")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests, if that is asked for: one room's others take less than ten seconds."""
    if config.getoption("--quick"):
        left_out = read_list()
        config.hook.pytest_deselected(items=[item for item in items if function(item.nodeid) in left_out])
        items[:] = [item for item in items if function(item.nodeid) not in left_out]


@pytest.fixture(scope="session")
def calibrate_scale(request: pytest.FixtureRequest) -> int:
    """How many times more replications than usual: 1, or 10 with --calibrate."""
    return 10 if request.config.getoption("--calibrate") else 1


@pytest.fixture(scope="session")
def scaled(calibrate_scale: int) -> Callable[[int], int]:
    """Turn a usual number of random problems into this run's: more with --calibrate, few when kernels are not compiled.

    A kernel that runs as plain Python takes some hundred times as long.
    """
    from numba import config

    return lambda usual: max(2, usual // 40) if config.DISABLE_JIT else usual * calibrate_scale


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    """Close what a test has drawn, for matplotlib warns of many open figures."""
    yield
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is not None:
        plots.close("all")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20210413)


@pytest.fixture(scope="session")
def public_data() -> Path:
    """Folder of public data sets (ALLDAGS_DATA, or ../shared/data beside the project); never bundled."""
    folder = Path(os.environ.get("ALLDAGS_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("public data sets are not on this machine; set ALLDAGS_DATA to their folder")
    return folder
