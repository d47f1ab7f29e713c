"""A method that breaks down says so, and an experiment goes on without its number."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.experiments import semisynthetic
from alldags.experiments.methods import child_rng
from alldags.experiments.runner import Task

SET = "a3c4c668a3f84ba3ac42bf78c3ca35b1"


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_variational_bayes_that_breaks_down_raises(public_data):
    data = semisynthetic.load(Task(SET, 4), str(public_data))
    rows = semisynthetic.nested_rows(data.treatment, 100, child_rng(0, SET, 4))[:700]
    with pytest.raises(ad.AlldagsError, match="variational Bayes of 'outcome' broke down: its 177 parents"):
        semisynthetic.bayes_estimate(data.take(rows), "default", "horseshoe", np.random.default_rng(0), 0)
