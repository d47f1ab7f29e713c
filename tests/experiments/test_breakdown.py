"""A method that breaks down says so, and an experiment goes on without its number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines import vb
from alldags.engines.mixtures.node import node_arrays
from alldags.errors import EngineError
from problems import PRIORS, random_node
from replication import semisynthetic
from replication.methods import child_rng
from replication.runner import Task

SET = "a3c4c668a3f84ba3ac42bf78c3ca35b1"


def test_an_iteration_without_a_finite_end_raises():
    problem, _ = random_node(0, PRIORS["unknown"], 3)
    bad = np.full(3, math.nan)
    with pytest.raises(ad.AlldagsError, match=r"variational Bayes of 'd' broke down: its 3 parents"):
        vb._posterior(vb.VB(), ad.priors.NEG(), problem, node_arrays(problem), bad, bad, np.zeros(2), False)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("replicate", range(3, 6))
def test_a_subsample_without_residual_gives_a_number_or_that_error(public_data, replicate):
    """Which subsamples break down depends on rounding, and so on the processor."""
    data = semisynthetic.load(Task(SET, replicate), str(public_data))
    rows = semisynthetic.nested_rows(data.treatment, 100, child_rng(0, SET, replicate))[:700]
    try:
        value = semisynthetic.bayes_estimate(data.take(rows), "default", "horseshoe", np.random.default_rng(0), 0).value
    except EngineError as error:
        value = 0.0 if "broke down: its 177 parents" in str(error) else math.nan
    assert math.isfinite(value)
