"""What a user gives for `Posterior.decide`: actions, what outcomes are worth, what actions cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from alldags import checks
from alldags.answers.decided import Utility
from alldags.answers.scenario import Scenario
from alldags.answers.settings import Set
from alldags.errors import AlldagsError, did_you_mean
from alldags.results.doing import scenario_of
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.posterior import Posterior

Given: TypeAlias = tuple[Mapping[str, Any] | Set, ...]

NOTHING = "nothing"
_SUCH_AS = (
    "{'none': {}, 'low': {'dose': 5}, 'both': {'dose': 5, 'diet': 1}}, or values of one variable, {'dose': [0, 10]}"
)


def read_actions(posterior: Posterior, actions: Any, outcome: str, over: Any) -> dict[str, Scenario]:
    """Return what each action sets, by name, checked; all over the same rows.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.results.actions import read_actions
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> for actions in ({"smoking": [0, 10]}, [{}, ad.shift("smoking", -5)], {"stop": {"smoking": 0}, "go on": None}):
    ...     print(list(read_actions(posterior, actions, "risk", "sample")))
    ['smoking = 0', 'smoking = 10']
    ['nothing', 'smoking - 5']
    ['stop', 'go on']
    """
    found = dict[str, Scenario]()
    for name, given in _listed(posterior, actions):
        one = scenario_of(posterior, given, outcome, next(iter(found.values())).over if found else over)
        called = one.words or NOTHING if name is None else name
        if called in found:
            raise AlldagsError(f"two actions are called {called!r}; name them, as in {{'one': ..., 'other': ...}}")
        found[called] = one
    if len(found) < 2:
        raise AlldagsError("one action alone is no choice; give at least two, of which {} may be one: to do nothing")
    if not any(one.given for one in found.values()):
        raise AlldagsError(f"no action sets anything; give what they set, such as {_SUCH_AS}")
    return found


def _listed(posterior: Posterior, actions: Any) -> list[tuple[str | None, Given]]:
    """Return names, where there are any, and what is set."""
    if isinstance(actions, Mapping):
        if len(actions) == 1 and (values := _values(next(iter(actions.values())))) is not None:
            (variable,) = actions
            posterior.check_known(variable, "variable")
            return [(None, ({variable: value},)) for value in values]
        return [(_name(name), _given(name, one)) for name, one in actions.items()]
    if isinstance(actions, list | tuple):
        return [(None, _given(place, one)) for place, one in enumerate(actions)]
    raise AlldagsError(f"actions must say what each of them sets, such as {_SUCH_AS}; got {actions!r}")


def _values(given: Any) -> list[Any] | None:
    """Return the values of one variable; None if something else was given."""
    if not isinstance(given, list | tuple | range | np.ndarray) and not hasattr(given, "to_numpy"):
        return None
    values = np.asarray(given).tolist() if not isinstance(given, list | tuple) else list(given)
    return None if any(one is None or isinstance(one, Mapping | Set | list | tuple) for one in values) else values


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise AlldagsError(
            f"actions are called by words, got {name!r}; for values of a variable give {{'dose': [0, 10]}}"
        )
    return name


def _given(name: Any, one: Any) -> Given:
    """Return what one action sets."""
    if one is None:
        return ()
    if isinstance(one, Mapping | Set):
        return (one,)
    if isinstance(one, list | tuple) and all(isinstance(part, Mapping | Set) for part in one):
        return tuple(one)
    raise AlldagsError(f"the action {name!r} does not say what it sets, got {one!r}; give actions such as {_SUCH_AS}")


def read_utility(utility: Any) -> Utility:
    """Return what an outcome is worth: a number for each unit, or a function."""
    if utility is None:
        return 1.0
    if callable(utility):
        return utility  # type: ignore[no-any-return]
    found = checks.finite("utility", utility)
    if found == 0.0:
        raise AlldagsError(
            "utility=0 makes all outcomes worth the same; give what one unit is worth, -1 if less is better"
        )
    return found


def read_cost(cost: Any, names: Sequence[str]) -> FloatArray:
    """Return what each action costs, shape (actions,)."""
    if cost is None:
        return np.zeros(len(names))
    if isinstance(cost, Mapping):
        for name in cost:
            if name not in names:
                listed = ", ".join(map(repr, names))
                raise AlldagsError(f"cost has no action {name!r}{did_you_mean(name, names) or f'; there are {listed}'}")
        return np.array([checks.finite(f"the cost of {name!r}", cost.get(name, 0.0)) for name in names])
    if isinstance(cost, list | tuple) and len(cost) == len(names):
        return np.array([checks.finite(f"the cost of {name!r}", one) for name, one in zip(names, cost, strict=True)])
    raise AlldagsError(
        f"cost must be a number for each action by name, {{{names[-1]!r}: 2.5}}, or for all {len(names)} in order, got "
        f"{cost!r}"
    )


def base_of(scenarios: Mapping[str, Scenario]) -> int:
    """Return the place of the action that the others are compared with: that which sets nothing, else the first."""
    return next((place for place, one in enumerate(scenarios.values()) if not one.given), 0)
