"""ACIC 2016: the facts published with the data, categories, new noise."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.datasets.challenge import redrawn

EFFECTS = {1: 2.128, 2: 4.679, 3: 4.752, 4: 4.796, 5: 3.353}


@pytest.mark.parametrize("setting", EFFECTS)
def test_facts(public_data, setting):
    data = ad.datasets.acic(setting, public_data)
    assert data.n == 4802
    assert data.effect_of_means == pytest.approx(EFFECTS[setting], abs=5e-4)
    spread = np.std(data.mean1 - data.mean0)
    assert (spread < 1e-9) == (setting in (2, 3))  # the effect is constant in these two
    for noise in (data.outcome0 - data.mean0, data.outcome1 - data.mean1):
        assert 0.975 < noise.std() < 1.025
    np.testing.assert_array_equal(data.outcome, np.where(data.treatment > 0, data.outcome1, data.outcome0))


def test_categories_become_zeros_and_ones(public_data):
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(public_data / "acic2016" / "x.csv")
    data = ad.datasets.acic(1, public_data)
    letters = {name: sorted(set(table[name])) for name in ("x_2", "x_21", "x_24")}
    assert len(data.columns) == 58 + sum(len(found) - 2 for found in letters.values()) == 79
    for name, found in letters.items():
        mine = [column for column in data.columns if column.startswith(f"{name}=")]
        assert mine == [f"{name}={letter}" for letter in found[1:]]
        values = data.covariates[:, [data.columns.index(column) for column in mine]]
        coded = [dict(enumerate(found))[0] if not row.any() else found[1 + int(row.argmax())] for row in values]
        assert coded == list(table[name])
    place = data.columns.index("x_58")
    np.testing.assert_array_equal(data.covariates[:, place], table["x_58"])


def test_new_noise_is_around_the_means_and_of_the_same_size(public_data):
    old, new = ad.datasets.acic(4, public_data), ad.datasets.acic(4, public_data, rng=3)
    np.testing.assert_array_equal(new.treatment, old.treatment)
    assert new.effect_of_means == old.effect_of_means
    published = np.concatenate([old.outcome0 - old.mean0, old.outcome1 - old.mean1])
    drawn = np.concatenate([new.outcome0 - new.mean0, new.outcome1 - new.mean1])
    # 9,604 normal numbers: the standard deviation's own relative error is 1 / sqrt(2 * 9604) = 0.7%
    assert drawn.std() == pytest.approx(np.sqrt(np.mean(published**2)), rel=4 * 0.0072)
    assert abs(np.corrcoef(published, drawn)[0, 1]) < 4 / np.sqrt(9604)
    np.testing.assert_array_equal(ad.datasets.acic(4, public_data, rng=3).outcome, new.outcome)
    assert not np.array_equal(ad.datasets.acic(4, public_data, rng=4).outcome, new.outcome)


def test_redrawn_noise_has_the_published_scale():
    rng = np.random.default_rng(0)
    means = np.arange(20_000.0), -np.arange(20_000.0)
    outcomes = [mean + 7.0 * rng.standard_normal(20_000) for mean in means]
    found = redrawn(*outcomes, *means, rng)
    for one, mean in zip(found, means, strict=True):
        assert (one - mean).std() == pytest.approx(7.0, rel=0.03)


def test_mistakes_are_named(public_data, tmp_path):
    with pytest.raises(ad.AlldagsError, match="settings 1 to 5 here, got 6"):
        ad.datasets.acic(6, public_data)
    with pytest.raises(ad.AlldagsError, match=r"there is no file 'acic2016/x.csv' in .* get it from https"):
        ad.datasets.acic(1, tmp_path)
    (tmp_path / "acic2016").mkdir()
    (tmp_path / "acic2016" / "x.csv").write_text("x_1,x_2\n1,A\n2,B\n")
    (tmp_path / "acic2016" / "zymu_1.csv").write_text("z,y0\n0,1\n1,2\n")
    with pytest.raises(ad.AlldagsError, match=r"must have the columns \['z', 'y0', 'y1', 'mu0', 'mu1'\], it has"):
        ad.datasets.acic(1, tmp_path)
