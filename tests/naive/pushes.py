"""One row and one draw at a time through all nodes: no slopes, no stops, no blocks."""

from __future__ import annotations

import itertools

import numpy as np

from alldags.columns.base import RowValues
from alldags.families.yes_no import Bernoulli


def outcomes(response, samples, comparison):
    """Return the mean outcomes over rows under both values of the treatment, shape (2, draws)."""
    size = next(iter(samples.values())).size
    found = np.zeros((2, size))
    batches = list(response.batches())
    total = sum(batch.total for batch in batches)
    for batch in batches:
        weight = np.ones(batch.count) if batch.weight is None else batch.weight
        own = batch.rows.values[response.span.variables[0]]
        starts = [own + shift for shift in comparison.shifts(own)]
        for place, start in enumerate(starts):
            for draw in range(size):
                found[place, draw] += weight @ _pushed(response, samples, batch, start, draw) / total
    return found


def _pushed(response, samples, batch, start, draw):
    """Average over all states of the yes/no nodes in between."""
    source, *between, target = response.span.variables
    yes_no = [name for name in between if isinstance(samples[name].family, Bernoulli)]
    whole = np.zeros(batch.count)
    for states in itertools.product([0.0, 1.0], repeat=len(yes_no)):
        now, chance = {source: start}, np.ones(batch.count)
        for name in between:
            if name in yes_no:
                state, p = states[yes_no.index(name)], _value(samples, batch, now, name, draw)
                chance = chance * (p if state else 1.0 - p)
                now[name] = np.full(batch.count, state)
            else:
                now[name] = _value(samples, batch, now, name, draw)
        whole += chance * _value(samples, batch, now, target, draw)
    return whole


def _value(samples, batch, now, name, draw):
    """Return the mean of a node given the values of what comes before; a normal one keeps the row's residual."""
    sample = samples[name]
    own = RowValues(batch.rows.values, batch.folds.get(name))
    before, after = (sample.columns.of(rows) @ sample.coefficients[draw] for rows in (own, own.put(now)))
    if sample.family is None:
        return batch.rows.values[name] + batch.data.scale_of(name) * (after - before)
    offset = batch.offset(sample.family)
    eta = after + sample.intercept[draw] + (0.0 if offset is None else offset)
    return sample.family.mean(eta)
