"""Posteriors in files: the same numbers to the last bit, and no file that is foreign or damaged is taken."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import alldags as ad
from alldags import engines
from alldags.errors import AlldagsError, DataError
from lines import fit

STUDY = ad.datasets.example()
GRAPH = ad.CandidateGraph.from_tiers([["a", "b"], ["x"], ["m"], ["y"]])


def rows(count=150, seed=0):
    rng = np.random.default_rng(seed)
    a, b, x, m, y = rng.standard_normal((5, count))
    x = x + 0.7 * a
    m = m + 0.5 * x - 0.3 * b
    return {"a": a, "b": b, "x": x, "m": m, "y": y + 0.4 * m + 0.3 * x}


TABLE = rows()
YES_NO = TABLE | {"y": (TABLE["y"] > 0).astype(float)}
COUNTS = TABLE | {
    "y": np.random.default_rng(3).poisson(np.exp(0.3 * TABLE["x"])).astype(float),
    "log_years": np.zeros(150),
}
HOLES = TABLE | {"b": np.where(np.arange(150) % 9, TABLE["b"], np.nan)}
SCHOOLS = np.array([f"school {i // 5}" for i in range(150)])
CASES = {
    "default": (TABLE, GRAPH, {}),
    "paper": (TABLE, GRAPH, {"prior": ad.Prior.paper()}),
    "several graphs": (TABLE, [GRAPH, GRAPH.without_edge("x", "m")], {"graph_weights": [0.3, 0.7]}),
    "shared": (
        TABLE,
        GRAPH,
        {"prior": ad.Prior(slab=ad.priors.LearnedSlab(shared=True), edges=ad.priors.BetaBinomial(1.0, 2.0))},
    ),
    "open direction": (TABLE, GRAPH.with_pair("m", "y", 0.4, 0.3), {}),
    "hidden": (TABLE, GRAPH.with_hidden("x", "y", 0.2), {}),
    "sampled": (TABLE, GRAPH, {"engine": engines.MCMC(sweeps=100, chains=2)}),
    "horseshoe": (TABLE, GRAPH, {"prior": ad.Prior(coefficients=ad.priors.Horseshoe()), "engine": "vb"}),
    "yes/no": (YES_NO, GRAPH, {}),
    "counts": (COUNTS, GRAPH, {"families": {"y": ad.Poisson(offset="log_years")}}),
    "heavy tails": (TABLE, GRAPH, {"families": {"y": ad.Student(df=5)}}),
    "curves": (TABLE, GRAPH, {"terms": {"y": ["curve(m)", "a*b"]}}),
    "curves, looked for": (TABLE, GRAPH, {"terms": "auto"}),
    "curves, by settings": (TABLE, GRAPH, {"terms": {"y": ad.Terms()}}),
    "imputed": (HOLES, GRAPH, {"missing": "impute", "imputations": 3}),
    "clusters": (TABLE, ad.CandidateGraph.from_order(["x", "y"]), {"cluster": SCHOOLS}),
    "experiment": (TABLE, GRAPH, {"interventions": {"x": np.arange(150) < 40}}),
    "sampling weights": (TABLE, GRAPH, {"weights": np.arange(150) % 3 + 0.5, "weight_kind": "sampling"}),
    "randomized": (TABLE, GRAPH, {"randomized": "x"}),
    "moments": (ad.Moments.from_table(TABLE), GRAPH, {}),
}


@pytest.fixture
def saved(tmp_path):
    target = tmp_path / "study.npz"
    fit(STUDY.table, STUDY.graph, rng=0).save(target)
    return target


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_same_to_the_last_bit(name, tmp_path):
    table, graph, options = CASES[name]
    first = fit(table, graph, rng=7, **options)
    one = first.effect("x", "y")
    one.interval()  # what rows say of uneven noise is saved, not the rows
    first.save(tmp_path / "fit.npz")
    again = ad.load(tmp_path / "fit.npz")
    other = again.effect("x", "y")
    assert (one.mean, one.sd, one.interval()) == (other.mean, other.sd, other.interval())
    np.testing.assert_array_equal(one.draws(300, rng=1), other.draws(300, rng=1))
    np.testing.assert_array_equal(one.draws(300), other.draws(300))
    assert first.graph_probabilities == again.graph_probabilities
    assert first.graphs == again.graphs
    assert str(one) == str(other)


def test_what_is_loaded_can_be_saved_again(saved, tmp_path):
    ad.load(saved).save(tmp_path / "again.npz")
    first, second = (ad.load(path).effect("smoking", "risk").mean for path in (saved, tmp_path / "again.npz"))
    assert first == second


def test_rows_are_in_the_file_only_where_answers_need_them(tmp_path):
    for table, has_rows in ((TABLE, False), (YES_NO, True)):
        fit(table, GRAPH, rng=0).save(tmp_path / "fit.npz")
        with np.load(tmp_path / "fit.npz") as archive:
            assert ("rows" in archive.files) is has_rows
    assert ad.load(tmp_path / "fit.npz").checks("x", "y").rows == 150


def test_checks_of_what_was_loaded_say_that_rows_are_gone(saved):
    assert "the rows were not kept" in ad.load(saved).checks().not_made[0]


def test_many_clusters_and_hostile_names(tmp_path):
    names = {"a": 'na"me', "b": "<script>", "x": "line\nbreak", "m": "naïve ☃", "y": "y"}
    table = {names[key]: values for key, values in TABLE.items()}
    graph = ad.CandidateGraph.from_order(list(table))
    fit(table, graph, rng=0).save(tmp_path / "fit.npz")
    assert ad.load(tmp_path / "fit.npz").variables == tuple(table)


def test_numbers_without_a_seed_stay_as_they_were(tmp_path):
    posterior = fit(TABLE, GRAPH)
    posterior.save(tmp_path / "fit.npz")
    drawn = posterior.effect("x", "y").draws(50)
    np.testing.assert_array_equal(ad.load(tmp_path / "fit.npz").effect("x", "y").draws(50), drawn)


# -- refused -----------------------------------------------------------------------------------------------------------


def rewritten(path, change):
    """Change the header of a saved file."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header)
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    return path


def test_foreign_files_are_refused(tmp_path):
    target = tmp_path / "other.npz"
    np.savez(target, x=np.arange(3))
    with pytest.raises(DataError, match="is not a posterior that alldags saved"):
        ad.load(target)
    target.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match="is not a posterior that alldags saved"):
        ad.load(target)
    np.savez(target, header=np.frombuffer(b'{"name": "something else"}', dtype=np.uint8))
    with pytest.raises(DataError, match="is not a posterior that alldags saved"):
        ad.load(target)
    with target.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(DataError, match="is not a posterior that alldags saved"):
        ad.load(target)
    with pytest.raises(OSError, match="No such file"):
        ad.load(tmp_path / "nothing.npz")


def test_pickled_objects_are_not_opened(tmp_path):
    target = tmp_path / "bad.npz"
    np.savez(target, header=np.array([print], dtype=object))
    with pytest.raises(DataError, match="is damaged"):
        ad.load(target)


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_cut_files_are_refused(saved, kept):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match="is damaged"):
        ad.load(saved)


def test_a_changed_byte_is_noticed(saved):
    with zipfile.ZipFile(saved) as archive:
        place = archive.getinfo("scatter0.npy").header_offset + 120
    content = bytearray(saved.read_bytes())
    content[place] ^= 0xFF
    saved.write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        ad.load(saved)


def test_other_versions_of_the_format_are_refused(saved):
    rewritten(saved, lambda header: header.update(version=99))
    with pytest.raises(
        DataError, match=r"version 99, this alldags reads .* of version 1; use the alldags that wrote it"
    ):
        ad.load(saved)


def test_another_version_of_the_package_is_a_note(saved):
    rewritten(saved, lambda header: header.update(alldags="0.0.1"))
    assert any("saved by alldags 0.0.1" in note for note in ad.load(saved).notes)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("prior"),
        lambda header: header["prior"].update({"class": "Popen"}),
        lambda header: header["prior"].update(units="parsec"),
        lambda header: header["graphs"][0].update(edges=[["a"]]),
        lambda header: header["parts"][0]["names"].pop(),
        lambda header: header.update(seeds=[[0, []]]),
        lambda header: header.update(shares=[0.5, 0.5]),
        lambda header: header.update(shares=[2.0]),
        lambda header: header.update(clustered="no"),
        lambda header: header.update(clustered=True),
        lambda header: header["graphs"][0]["edges"][0].__setitem__(2, 1e-320),
        lambda header: header.update(terms="curves"),
        lambda header: header.update(families=[["risk", {"class": "Terms"}]]),
        lambda header: header.update(engine={"class": "KnownNoise"}),
        lambda header: header["parts"][0].update(n=[-3]),
    ],
)
def test_headers_that_make_no_sense_are_refused(saved, change):
    with pytest.raises(DataError, match="is damaged"):
        ad.load(rewritten(saved, change))


def test_cross_products_of_no_table_are_refused(saved):
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["scatter0"][0, 0, 1] = arrays["scatter0"][0, 1, 0] = 1e9
    np.savez(saved, **arrays)
    with pytest.raises(DataError, match="some sum of the columns has a negative variance"):
        ad.load(saved)


def test_what_cannot_be_saved_is_refused_by_name(tmp_path):
    class Own(engines.Exact):
        pass

    target = tmp_path / "fit.npz"
    with pytest.raises(AlldagsError, match=r"the engine is .*Own.* does not know how to save"):
        fit(TABLE, GRAPH, engine=Own()).save(target)
    with pytest.raises(AlldagsError, match="derived from another"):
        fit(TABLE, GRAPH)._without_link().save(target)
    labels = np.empty(150, dtype=object)
    labels[:] = [(i // 5, 0) for i in range(150)]
    with pytest.raises(AlldagsError, match="neither text nor a number"):
        fit(TABLE, GRAPH, cluster=labels).save(target)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(OSError, match="disk full"):
        fit(TABLE, GRAPH).save(saved)
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


def test_a_file_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, header=np.zeros(80_000_000, dtype=np.uint8))
    with pytest.raises(DataError, match=r"is damaged: \d+ kB that unpack to 80 MB, which no file of a table does"):
        ad.load(path)
