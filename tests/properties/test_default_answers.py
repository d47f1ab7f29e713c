"""The default answer does not depend on what should not matter: rows in another order, units, names, threads."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad


def study(seed=0, rows=300):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((rows, 4))
    t = (rng.logistic(size=rows) < w[:, 0] + np.abs(w[:, 1]) - 0.8).astype(float)
    y = t * (1 + 0.4 * w[:, 2]) + w[:, 0] + np.abs(w[:, 1]) + rng.standard_normal(rows)
    return {**{f"w{i}": w[:, i] for i in range(4)}, "t": t, "y": y}


def ask(table, **options):
    names = [name for name in table if name not in ("t", "y")]
    return ad.effect(table, treatment="t", outcome="y", confounders=names, rng=0, **options)


@pytest.fixture(scope="module")
def effect():
    return ask(study())


def close(one, other, factor=1.0):
    assert one.mean == pytest.approx(factor * other.mean, abs=0.1 * abs(factor) * other.sd)
    assert one.sd == pytest.approx(abs(factor) * other.sd, rel=0.08)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_does_not_matter(effect, seed):
    order = np.random.default_rng(seed).permutation(300)
    close(ask({name: column[order] for name, column in study().items()}), effect)


def test_the_order_of_columns_and_their_names_do_not_matter(effect):
    table = study()
    renamed = {f"a column, {name}": table[name] for name in ("w3", "w1", "w0", "w2")}
    close(ask(renamed | {"t": table["t"], "y": table["y"]}), effect)


def test_origins_and_units_do_not_matter(effect):
    table = study()
    moved = {"w0": table["w0"] + 1e6, "w1": 1e-6 * table["w1"], "w2": -1e6 * table["w2"], "w3": table["w3"]}
    close(ask(moved | {"t": table["t"], "y": 1e6 * table["y"] + 1e6}), effect, 1e6)


def test_threads_and_seeds(effect):
    assert ask(study(), n_jobs=2).mean == effect.mean
    table = study()
    names = [name for name in table if name not in ("t", "y")]
    close(ad.effect(table, treatment="t", outcome="y", confounders=names, rng=7), effect)


def test_a_table_saved_and_loaded_gives_the_same_bits(effect, tmp_path):
    effect.posterior.save(tmp_path / "kept.npz")
    again = ad.load(tmp_path / "kept.npz").effect("t", "y")
    assert (again.mean, again.sd) == (effect.mean, effect.sd)


def test_a_file_answers_as_the_table_in_memory(effect, tmp_path):
    table = study()
    lines = [",".join(table), *(",".join(repr(float(x)) for x in row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "study.csv").write_text("\n".join(lines))
    names = [name for name in table if name not in ("t", "y")]
    found = ad.effect(tmp_path / "study.csv", treatment="t", outcome="y", confounders=names, rng=0)
    close(found, effect)


def test_with_gaps_in_the_outcome_another_seed_moves_the_answer_by_no_more_than_it_says():
    rng = np.random.default_rng(11)
    w, v = rng.standard_normal((2, 300))
    t = (rng.random(300) < 1.0 / (1.0 + np.exp(-(w**2 - 1.0)))).astype(float)
    y = 0.5 * t + w**2 + 0.5 * v + rng.standard_normal(300)
    y[:30] = np.nan
    asked = {"treatment": "t", "outcome": "y", "confounders": ["w", "v"]}
    found = [ad.effect({"w": w, "v": v, "t": t, "y": y}, **asked, rng=seed) for seed in range(4)]
    error = max(effect.uncertainty.mean_error for effect in found)
    assert np.std([effect.mean for effect in found]) < 3.0 * max(error, 1e-9)
    columns = [effect.answer.changes.items[0].node.over_columns.columns for effect in found]
    assert len({str(own.made) for own in columns}) == 1
