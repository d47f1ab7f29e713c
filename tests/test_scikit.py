"""The estimator of scikit-learn's kind is the front door under other words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alldags as ad
from alldags.errors import DataError

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from alldags.scikit import EffectRegressor  # noqa: E402

LINES = {"terms": None}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    age, sex = rng.standard_normal(200), rng.integers(0, 2, 200).astype(float)
    dose = age + rng.standard_normal(200)
    y = 0.5 * dose + age - 0.5 * sex + rng.standard_normal(200)
    return pd.DataFrame({"age": age, "dose": dose, "sex": sex}), y


@pytest.fixture(scope="module")
def model(data):
    return EffectRegressor("dose", options=LINES, random_state=0).fit(*data)


def test_it_is_the_front_door(data, model):
    X, y = data
    there = ad.effect(X.assign(outcome=y), treatment="dose", outcome="outcome", confounders=["age", "sex"],
                      terms=None, rng=0)  # fmt: skip
    assert (model.effect().mean, model.effect().interval()) == (there.mean, there.interval())
    np.testing.assert_array_equal(model.predict(X), there.posterior.predict(X, outcome="outcome")["mean"])
    np.testing.assert_allclose(model.effect(X), there.mean, atol=1e-9)  # straight lines: the same in every row


def test_parameters_are_kept_as_they_were_given_and_cloned(model):
    assert model.get_params() == {"treatment": "dose", "mediators": (), "options": LINES, "random_state": 0}
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict([[0.0, 1.0, 2.0]])
    assert copy.set_params(treatment="age").treatment == "age"
    assert model.treatment == "dose"


def test_a_clone_gives_the_same_numbers(data, model):
    again = clone(model).fit(*data)
    assert again.effect().mean == model.effect().mean
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))


def test_predictions_are_near_those_of_least_squares(data, model):
    from sklearn.linear_model import LinearRegression

    X, y = data
    other = LinearRegression().fit(X, y)
    assert np.abs(model.predict(X) - other.predict(X)).max() < 0.3
    assert model.score(X, y) == pytest.approx(other.score(X, y), abs=0.01)


def test_arrays_have_columns_by_place(data, model):
    X, y = data
    placed = EffectRegressor(1, options=LINES, random_state=0).fit(X.to_numpy(), y)
    assert placed.effect().mean == pytest.approx(model.effect().mean, rel=1e-9)
    assert list(placed.feature_names_in_) == ["x0", "x1", "x2"]


def test_it_goes_into_pipelines_cross_validation_and_searches(data):
    X, y = data
    plain = EffectRegressor(1, options=LINES, random_state=0)
    assert make_pipeline(StandardScaler(), plain).fit(X, y).predict(X).shape == (200,)
    assert np.mean(cross_val_score(plain, X, y, cv=3)) > 0.3
    search = GridSearchCV(plain, {"treatment": [0, 1]}, cv=2).fit(X, y)
    assert search.best_params_["treatment"] in (0, 1)


def test_mediators_are_not_adjusted_for():
    rng = np.random.default_rng(4)
    x = rng.standard_normal(500)
    m = x + rng.standard_normal(500)
    X, y = np.column_stack([x, m]), m + rng.standard_normal(500)
    total = EffectRegressor(0, mediators=[1], options=LINES, random_state=0).fit(X, y)
    direct = EffectRegressor(0, options=LINES, random_state=0).fit(X, y)
    assert total.effect().mean == pytest.approx(1.0, abs=0.2)
    assert direct.effect().mean == pytest.approx(0.0, abs=0.2)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda X, y: EffectRegressor("dosis").fit(X, y), "'dosis' is no column of X; it has 'age', 'dose', 'sex'"),
        (lambda X, y: EffectRegressor(3).fit(X, y), "3 is no column of X"),
        (lambda X, y: EffectRegressor(0).fit(y, y), r"got shape \(200,\); a single column is X.reshape\(-1, 1\)"),
        (lambda X, y: EffectRegressor(0).fit(X.rename(columns={"age": "outcome"}), y), "X has a column 'outcome'"),
    ],
)
def test_mistakes_are_named(data, made, message):
    with pytest.raises(DataError, match=message):
        made(*data)


def test_other_columns_than_those_of_the_fit_are_refused(data, model):
    with pytest.raises(DataError, match=r"X has the columns \['dose', 'age', 'sex'\], the model was fitted to"):
        model.predict(data[0][["dose", "age", "sex"]])


def test_without_scikit_learn_the_extra_is_named():
    import subprocess
    import sys

    code = "import sys; sys.modules['sklearn'] = None; import alldags.scikit"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'alldags[sklearn]'" in done.stderr
