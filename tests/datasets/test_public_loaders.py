"""Loaders of IHDP and LBIDD: local folder, download with checksum, clear errors."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import alldags as ad
from alldags.datasets import public

LBIDD_EFFECTS = {
    "30fdfdf9": -1.7029,
    "a3c4c668": 1.9776,
    "00ea30e8": -0.7985,
    "2fd4b7c5": -3.3423,
    "851a503c": 2.8180,
    "32be2325": 1.6899,
    "53166055": -6.0039,
    "d09f9620": 0.1467,
    "ea8ec4f5": 2.7277,
    "629e3d2c": 0.0062,
}


@pytest.fixture
def no_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("ALLDAGS_DATA", raising=False)
    monkeypatch.setenv("ALLDAGS_CACHE", str(tmp_path / "cache"))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server on this machine that serves tmp_path/web."""
    (tmp_path / "web").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=tmp_path / "web")) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield tmp_path / "web", f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def fake_ihdp(path, rows=8):
    rng = np.random.default_rng(0)
    table = np.column_stack([np.arange(rows) % 2, rng.normal(size=(rows, 29))])
    np.savetxt(path, table, delimiter=",")
    return table


# -- the real files ---------------------------------------------------------------------------------------------------


def test_ihdp_facts(public_data):
    data = ad.datasets.ihdp(1, public_data)
    assert (data.n, data.covariates.shape[1], int(data.treatment.sum())) == (747, 25, 139)
    assert data.effect == pytest.approx(4.0297, abs=5e-5)
    assert data.effect_of_means == pytest.approx(4.0161, abs=5e-5)
    assert data.columns[:2] == ("bw", "b.head")
    observed = np.where(data.treatment > 0, data.outcome1, data.outcome0)
    np.testing.assert_array_equal(observed, data.outcome)


@pytest.mark.parametrize("replication", [1, 10])
def test_ihdp_both_files_agree(public_data, replication):
    together = ad.datasets.ihdp(replication, public_data)
    alone = public._ihdp_from_csv(public.find_file(f"ihdp/ihdp_npci_{replication}.csv", public_data), replication)
    np.testing.assert_allclose(alone.array(), together.array(), atol=1e-5)  # the npz has outcomes in single precision
    assert alone.effect == pytest.approx(together.effect, abs=1e-6)


def test_ihdp_has_a_thousand_different_replications(public_data):
    effects = [ad.datasets.ihdp(index, public_data).effect_of_means for index in range(1, 1001)]
    assert np.mean(effects) == pytest.approx(4.400, abs=5e-4)
    assert np.median(effects) == pytest.approx(4.090, abs=5e-4)
    assert len(set(effects)) == 1000


@pytest.mark.parametrize("name", LBIDD_EFFECTS)
def test_lbidd_facts(public_data, name):
    data = ad.datasets.lbidd(name, public_data)
    assert data.covariates.shape == (1000, 177)
    assert data.effect == pytest.approx(LBIDD_EFFECTS[name], abs=5e-5)
    assert data.effect_of_means is None


def test_lbidd_single_files_agree(public_data):
    together = ad.datasets.lbidd("30fdfdf9", public_data)
    alone = public._lbidd_from_csv(public._complete("30fdfdf9"), public_data)
    np.testing.assert_allclose(alone.array(), together.array(), rtol=1e-12)
    assert alone.columns == together.columns
    assert alone.effect == pytest.approx(together.effect, rel=1e-12)


def test_environment_variable_names_the_folder(public_data, monkeypatch):
    monkeypatch.setenv("ALLDAGS_DATA", str(public_data))
    assert ad.datasets.ihdp(3).n == 747


def test_checksums_are_those_of_the_files(public_data):
    for name, (checksum, address) in public._registry().items():
        path = public_data / name
        if path.exists():
            assert hashlib.sha256(path.read_bytes()).hexdigest() == checksum, name
        assert address.startswith("https://raw.githubusercontent.com/")
    assert len(public._registry()) == 50 + 18 + 1 + 4 + 6


def test_what_can_be_loaded(public_data, tmp_path):
    assert public.ihdp_replications(public_data) == 1000
    assert public.ihdp_replications(tmp_path) == 50
    assert len(public.lbidd_sets(public_data)) == 10
    assert public.lbidd_sets(tmp_path) == ad.datasets.LBIDD_SETS[:-1]


# -- what a data set can do -------------------------------------------------------------------------------------------


def small_data():
    treatment = np.array([0.0, 1.0, 1.0])
    y0, y1 = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 3.0])
    x = np.arange(6.0).reshape(3, 2)
    outcome = np.where(treatment > 0, y1, y0)
    return public.TreatmentData("toy", x, treatment, outcome, y0, y1, None, None, ("a", "b"))


def test_graph_is_that_of_figure_5():
    graph = small_data().graph(0.4)
    expected = {("a", "treatment"), ("b", "treatment"), ("a", "outcome"), ("b", "outcome"), ("treatment", "outcome")}
    assert set(graph.edges) == expected
    assert set(graph.edges.values()) == {0.4}


def test_rows_can_be_taken():
    data = small_data()
    assert data.effect == 1.0
    part = data.take([0, 1])
    assert (part.n, part.effect, part.mean0) == (2, 1.5, None)
    np.testing.assert_array_equal(part.array(), [[0, 1, 0, 1], [2, 3, 1, 4]])


def test_table_for_fit():
    data = small_data()
    frame = data.to_pandas()
    assert list(frame.columns) == ["a", "b", "treatment", "outcome"]
    np.testing.assert_array_equal(frame.to_numpy(), data.array())


def test_moments_for_fit():
    data = small_data()
    moments = data.moments()
    assert moments.names == data.names
    np.testing.assert_allclose(moments.mean, data.array().mean(axis=0))


# -- download ---------------------------------------------------------------------------------------------------------


def test_download_once_and_check(no_folder, server, monkeypatch):
    web, address = server
    table = fake_ihdp(web / "one.csv")
    checksum = hashlib.sha256((web / "one.csv").read_bytes()).hexdigest()
    monkeypatch.setattr(public, "_registry", lambda: {"ihdp/ihdp_npci_1.csv": (checksum, f"{address}/one.csv")})
    first = ad.datasets.ihdp(1)
    np.testing.assert_allclose(first.treatment, table[:, 0])
    (web / "one.csv").unlink()
    np.testing.assert_array_equal(ad.datasets.ihdp(1).outcome, first.outcome)  # from the cache


def test_download_with_wrong_checksum(no_folder, server, monkeypatch):
    web, address = server
    fake_ihdp(web / "one.csv")
    monkeypatch.setattr(public, "_registry", lambda: {"ihdp/ihdp_npci_1.csv": ("0" * 64, f"{address}/one.csv")})
    with pytest.raises(ad.AlldagsError, match=r"could not download .*hash.* set ALLDAGS_DATA"):
        ad.datasets.ihdp(1)


def test_download_that_fails_says_where_to_get_the_file(no_folder, server, monkeypatch):
    _, address = server
    monkeypatch.setattr(public, "_registry", lambda: {"ihdp/ihdp_npci_1.csv": ("0" * 64, f"{address}/none.csv")})
    with pytest.raises(ad.AlldagsError, match=rf"could not download .* get it from {address}/none.csv"):
        ad.datasets.ihdp(1)


# -- mistakes ---------------------------------------------------------------------------------------------------------


def test_unpublished_replication_says_where_it_comes_from(no_folder):
    with pytest.raises(ad.AlldagsError, match=r"replications 1 to 50 can be downloaded; 51 to 1000 .*vdorie/npci"):
        ad.datasets.ihdp(51)


def test_unpublished_set_says_where_it_comes_from(no_folder):
    with pytest.raises(ad.AlldagsError, match="Synapse"):
        ad.datasets.lbidd("629e3d2c")


def test_replication_out_of_range():
    with pytest.raises(ad.AlldagsError, match="replications 1 to 1000, got 0"):
        ad.datasets.ihdp(0)


def test_unknown_set():
    with pytest.raises(ad.AlldagsError, match="'a4c4' is not one of the LBIDD sets"):
        ad.datasets.lbidd("a4c4")
    with pytest.raises(ad.AlldagsError, match="'3' is the beginning of more than one"):
        ad.datasets.lbidd("3")


def test_folder_that_does_not_exist(tmp_path):
    with pytest.raises(ad.AlldagsError, match="does not exist; set ALLDAGS_DATA"):
        ad.datasets.ihdp(1, tmp_path / "nowhere")


def test_file_that_is_missing_in_the_folder(tmp_path):
    with pytest.raises(ad.AlldagsError, match=r"there is no file 'ihdp/ihdp_npci_2.csv' in .* get it from https"):
        ad.datasets.ihdp(2, tmp_path)


def test_file_with_the_wrong_columns(tmp_path):
    (tmp_path / "ihdp").mkdir()
    np.savetxt(tmp_path / "ihdp" / "ihdp_npci_1.csv", np.zeros((3, 4)), delimiter=",")
    with pytest.raises(ad.AlldagsError, match="must have 30 columns, it has shape"):
        ad.datasets.ihdp(1, tmp_path)
