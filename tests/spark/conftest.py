"""A real Spark in local mode, for `make test-spark`; the ordinary suite does not collect these tests."""

from __future__ import annotations

import os
import sys

import pytest

collect_ignore_glob = [] if os.environ.get("ALLDAGS_SPARK") else ["test_*.py"]


@pytest.fixture(scope="session")
def spark():
    """A session with two threads; workers run the same Python as the tests."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("alldags")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield session
    session.stop()
