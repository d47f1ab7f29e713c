"""Tables of a PostgreSQL server: through ADBC, through DuckDB, and added up where they are."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.errors import DataError
from lines import fit

NAMES = ("dose", 'age "in years"', "score")
ROWS = 3000


def values(offset: float) -> np.ndarray:
    rng = np.random.default_rng(5)
    mixed = rng.normal(size=(ROWS, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]])
    return mixed + offset * np.arange(1, 4)


def table_name(offset: float) -> str:
    return f'visits "{offset:g}"'


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def filled(server):
    """The server with two tables in it."""
    import psycopg

    with psycopg.connect(server) as connection:
        for offset in (0.0, 1e8):
            columns = ", ".join(f"{quoted(name)} double precision" for name in NAMES)
            connection.execute(f"create table {quoted(table_name(offset))} ({columns}, site text)")
            with connection.cursor().copy(f"copy {quoted(table_name(offset))} from stdin") as copy:
                for row in values(offset).tolist():
                    copy.write_row((*row, "x"))
    return server


@pytest.fixture
def tables(filled):
    """The tables through Ibis, by the size of their means."""
    import ibis

    backend = ibis.connect(filled)
    yield lambda offset: backend.table(table_name(offset))
    backend.disconnect()


def check(got: ad.Moments, offset: float) -> None:
    exact = values(offset).astype(np.longdouble)
    centred = exact - exact.mean(axis=0)
    want = centred.T @ centred
    assert (got.n, got.names) == (ROWS, NAMES)
    assert (np.abs(got.scatter - want) / np.sqrt(np.outer(np.diag(want), np.diag(want)))).max() < 1e-12


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_through_adbc(filled, offset):
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(filled) as connection, connection.cursor() as cursor:
        cursor.execute(f"select * from {quoted(table_name(offset))}")
        check(ad.read_moments(cursor.fetch_record_batch(), NAMES), offset)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_added_up_where_it_is(tables, offset):
    """Means and sums of products are asked for, no rows."""
    check(ad.read_moments(tables(offset), NAMES, push_down=True), offset)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_through_ibis(tables, offset):
    check(ad.read_moments(tables(offset), NAMES), offset)


def test_fit_takes_the_table(tables):
    graph = ad.CandidateGraph.from_order([NAMES[1], "dose", "score"])
    want = fit(values(0.0), graph, names=NAMES, rng=0).effect("dose", "score")
    got = fit(tables(0.0), graph, rng=0)
    assert got.effect("dose", "score").mean == pytest.approx(want.mean, rel=1e-12)
    assert "columns not in the graph were ignored: 'site'" in map(str, got.notes)


def test_a_query_that_fails_half_way(filled):
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(filled) as connection, connection.cursor() as cursor:
        cursor.execute("select 1.0 / (150000 - i) as a, i as b from generate_series(1, 200000) as i")
        with pytest.raises(DataError, match=r"(?s)reading the Arrow stream .*division by zero"):
            ad.read_moments(cursor.fetch_record_batch(), ["b"])


def test_text_is_refused_by_name_where_it_is(tables):
    with pytest.raises(DataError, match=r"column 'site' has dtype String, which is not a number"):
        ad.read_moments(tables(0.0), push_down=True)


def test_names_that_differ_in_case_only_are_two_columns(filled):
    import ibis
    import psycopg

    with psycopg.connect(filled) as connection:
        connection.execute('create table both_cases as select i::float8 as a, (i * i)::float8 as "A" from '
                           "generate_series(1, 9) as i")  # fmt: skip
    backend = ibis.connect(filled)
    for table in (backend.table("both_cases"), backend.table("both_cases").filter(ibis._.A > 0)):
        for push_down in (True, False):
            found = ad.read_moments(table, ["A", "a"], push_down=push_down)
            assert found.mean.tolist() == pytest.approx([285 / 9, 5.0])
    backend.disconnect()
