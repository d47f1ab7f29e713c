"""Mediation in a network of yes/no variables with known tables: sums over all values, nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Values = Mapping[str, float]


@dataclass(frozen=True)
class Network:
    """Yes/no variables in causal order, each with the probability of a one given what comes before it."""

    tables: Mapping[str, Callable[[Values], float]]

    def states(self, given: Values, do: Values, names: Sequence[str]) -> Iterator[tuple[dict[str, float], float]]:
        """Yield values of some variables and their probability, given covariates, where some variables are set."""
        every = [name for name in self.tables if name not in do]
        found: dict[tuple[float, ...], float] = {}
        for values in itertools.product((0.0, 1.0), repeat=len(every)):
            state = {**given, **do, **dict(zip(every, values, strict=True))}
            chance = 1.0
            for name in every:
                p = self.tables[name](state)
                chance *= p if state[name] else 1.0 - p
            key = tuple(state[name] for name in names)
            found[key] = found.get(key, 0.0) + chance
        return ((dict(zip(names, key, strict=True)), chance) for key, chance in found.items())

    def mean(self, outcome: str, given: Values, do: Values) -> float:
        """Return the mean of the outcome where some variables are set."""
        return sum(chance * state[outcome] for state, chance in self.states(given, do, [outcome]))

    def mixed(self, outcome: str, given: Values, levels: tuple[float, float], kept: Sequence[str]) -> float:
        """Return the mean outcome under the second value of t, with mediators drawn under the first."""
        low, high = levels
        drawn = self.states(given, {"t": low}, kept)
        return sum(chance * self.mean(outcome, given, {"t": high, **state}) for state, chance in drawn)

    def drawn_anew(
        self, outcome: str, given: Values, levels: tuple[float, float, float], kept: Sequence[str], free: Sequence[str]
    ) -> float:
        """Return the mean outcome with t at the last value: kept drawn under the first, free under the second."""
        low, high, own = levels
        return sum(
            first * second * self.mean(outcome, given, {"t": own, **one, **two})
            for one, first in self.states(given, {"t": low}, kept)
            for two, second in self.states(given, {"t": high, **one}, free)
        )
