"""One draw at a time, each variable from its causes in the worlds where it reads them: no slopes, no stops, no plan."""

from __future__ import annotations

import itertools

import numpy as np

from alldags.columns.base import RowValues
from alldags.families.yes_no import Bernoulli


def mean(rows, samples, world, name, draw, keeps=False):
    """Return the mean of a variable in a world, shape (rows,), averaged over all states of yes/no variables before."""
    if name in world.settings:
        return _set(rows, samples, world, name, draw, {}, keeps)
    copies = list(dict.fromkeys(_yes_no(rows, samples, world, name)))
    whole = np.zeros(rows.count)
    for states in itertools.product([0.0, 1.0], repeat=len(copies)):
        known = dict(zip(copies, states, strict=True))
        chance = np.ones(rows.count)
        for (at, other), state in known.items():
            p = _mean(rows, samples, at, other, draw, known, keeps)
            chance = chance * (p if state else 1.0 - p)
        whole += chance * _mean(rows, samples, world, name, draw, known, keeps)
    return whole


def _moves(samples, world, name):
    """Tell whether a variable can be moved in a world."""
    if name in world.settings:
        return True
    if name not in samples:
        return False
    return any(_moves(samples, world.of(name, cause), cause) for cause in samples[name].columns.variables)


def _yes_no(rows, samples, world, name):
    """Yield the yes/no variables that are moved before a variable, each with its world."""
    if name in world.settings:
        for other in world.settings[name].reads:
            yield from _yes_no(rows, samples, world, other)
        return
    for cause in samples[name].columns.variables if name in samples else ():
        at = world.of(name, cause)
        yield from _yes_no(rows, samples, at, cause)
        yes_no = cause in samples and isinstance(samples[cause].family, Bernoulli)
        if yes_no and cause not in at.settings and _moves(samples, at, cause):
            yield at, cause


def _value(rows, samples, world, name, draw, known, keeps):
    if name in world.settings:
        return _set(rows, samples, world, name, draw, known, keeps)
    if not _moves(samples, world, name):
        return rows.rows.values[name]
    if (world, name) in known:
        return np.full(rows.count, known[world, name])
    return _mean(rows, samples, world, name, draw, known, keeps)


def _set(rows, samples, world, name, draw, known, keeps):
    def value(other):
        return _value(rows, samples, world, other, draw, known, keeps)[:, None]

    found = world.settings[name].values(rows, name, value)
    return np.broadcast_to(found, (rows.count, 1))[:, 0]


def _mean(rows, samples, world, name, draw, known, keeps):
    """Return the mean of a variable given its causes; a normal one keeps the row's residual."""
    sample = samples[name]
    causes = [cause for cause in sample.columns.variables if cause in rows.rows.values]
    now = {cause: _value(rows, samples, world.of(name, cause), cause, draw, known, keeps) for cause in causes}
    own = RowValues(rows.rows.values, rows.folds.get(name))
    before, after = (sample.columns.of(one) @ sample.coefficients[draw] for one in (own, own.put(now)))
    if sample.family is None:
        return rows.rows.values[name] + rows.data.scale_of(name) * (after - before)
    offset = rows.offset(sample.family)
    start = sample.intercept[draw] + (0.0 if offset is None else offset)
    p, was = sample.family.mean(after + start), sample.family.mean(before + start)
    if not keeps:
        return p
    one = rows.rows.values[name] == 1.0
    return np.where(one, np.minimum(p / was, 1.0), np.maximum((p - was) / (1.0 - was), 0.0))
