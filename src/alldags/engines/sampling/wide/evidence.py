"""The log evidence of a wide node: that of the hot candidates alone, and how probable it is that no other is present.

The weights of all sets add up to those of the sets of hot candidates, divided by the probability that no other is
present. Given a state, a scan that takes every candidate which is not hot out has a probability, whose mean over the
posterior is that of an end without any (Chib 1995; Ritter and Tanner 1992): no state needs to be without guests.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.sampling.diagnostics import mean_errors
from alldags.engines.sampling.evidence import Evidence, evidence
from alldags.engines.sampling.run import Seen, State, observe
from alldags.engines.sampling.wide.blocks import STORED, Space
from alldags.engines.sampling.wide.sample import WideSample

SETS, WARM_UP = 250, 30  # of each chain among the hot candidates alone


def wide_evidence(sample: WideSample, rng: np.random.Generator) -> Evidence:
    """Return the log evidence of a node from what its chains have seen."""
    alone = _evidence_of_hot(sample, rng)
    if len(sample.walk.division.places) == sample.wide.k:
        return alone
    absent, error = _log_probability_of_no_guest(sample)
    return Evidence(alone.value - absent, math.hypot(alone.error, error), alone.rungs)


def _evidence_of_hot(sample: WideSample, rng: np.random.Generator) -> Evidence:
    """Return the log of the sum of the weights of all sets of hot candidates."""
    chosen, target = sample.walk.division, sample.walk.target
    states = tuple(State(state.present[chosen.places], state.setting) for state in sample.states)
    generators = rng.spawn(len(states))
    states, _ = observe(chosen.systems, states, target, 1, WARM_UP, generators)
    _, seen = observe(chosen.systems, states, target, SETS, 1, generators)
    inclusion = seen.trace[:, :, 0].mean(axis=(0, 1))
    return evidence(chosen.systems, target, seen, inclusion, rng)


def _log_probability_of_no_guest(sample: WideSample) -> tuple[float, float]:
    """Return the log of the probability that all candidates are absent which are not hot, and its standard error."""
    seen = sample.recorded
    logs = np.array(
        [_log_absent(sample, seen, c, b) for c, b in np.ndindex(seen.sets[:, STORED - 1 :: STORED].shape[:2])]
    )
    logs = logs.reshape(len(seen.sets), -1)
    top = float(logs.max())
    shares = np.exp(logs - top)
    mean = float(shares.mean())
    return top + math.log(mean), float(mean_errors(shares[:, :, None])[0]) / mean


def _log_absent(sample: WideSample, seen: Seen, chain: int, block: int) -> float:
    at = block * STORED + STORED - 1
    return Space(sample.walk).log_absent(State(seen.sets[chain, at], int(seen.settings[chain, at])))
