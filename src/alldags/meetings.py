"""What goes with what: the one table of what refuses each other, its reasons, and the ways out.

A capability is something that a call of `alldags.fit`, a table, a graph, a prior, an engine or a question has or asks
for. Rooms collect capabilities by name and ask `check`. To open a meeting, delete its row in `ROWS`; to refuse one, add
a row. ``python -m alldags.meetings docs/reference/together.md`` writes the table into its page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from alldags.errors import AlldagsError, DataError, EngineError, PriorError
from alldags.kinds import KINDS
from alldags.text import some
from alldags.wording import either, in_python, option

Asked: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Capability:
    """What can be had or asked for.

    Parameters
    ----------
    shown
        In a sentence: ``{names}`` are the variables that have it, ``{of}`` the same where there may be none,
        ``{s}`` and ``{y}`` make a plural; ``{name}`` is what else it is called.
    without
        How to do without it; empty for what one cannot do without.
    error
        What is raised if it refuses something.
    """

    shown: str
    without: str = ""
    error: type[AlldagsError] = DataError


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two capabilities that do not go together.

    Parameters
    ----------
    one, other
        Their names.
    reason
        Why not.
    way_out
        What to do instead; by default, to do without the one or without the other.
    """

    one: str
    other: str
    reason: str
    way_out: str = ""


_LEVELS = "make 0/1 columns of the levels, with a gap in every one of them where the level is not known"
_AUTO = f"use {option('engine', 'auto')}"
_ORDERS = f"use {option('engine', 'auto', 'exact', 'mcmc')}"
_MEAN = f"ask for {either('do(x).mean', 'do')}, the mean over rows"
_PAPER = f"use {either('Prior(intercept=True)', 'another --prior than paper')}"
_NOISE = f"use {either('UnknownNoise()', 'another --prior than paper, without --noise-precision')}"

_SENSITIVITY = either("effect.sensitivity()", "--sensitivity")
_ASSUMED = f"leave it out of the graph, and ask {_SENSITIVITY} how strong it would have to be"

CAPABILITIES: dict[str, Capability] = {
    # rows
    "experiments": Capability(option("interventions"), f"leave out {option('interventions')}"),
    "randomised": Capability(option("randomized"), f"leave out {option('randomized')}"),
    "dropped rows": Capability(option("missing", "drop"), f"leave out {option('missing', 'drop')}"),
    "imputation": Capability(option("missing", "impute"), f"use {option('missing', 'drop')}"),
    "gaps": Capability("gaps{of}", f"drop such rows with {option('missing', 'drop')}"),  # of what acts on nothing
    "completed tables": Capability(either("ad.Imputed tables", "completed tables"), "give one table"),
    "frequency weights": Capability(option("weights"), f"leave out {option('weights')}"),
    "sampling weights": Capability(option("weight_kind", "sampling"), f"leave out {option('weights')}"),
    "clusters": Capability(option("cluster"), f"leave out {option('cluster')}"),
    "fixed effects": Capability(option("fixed_effects"), f"leave out {option('fixed_effects')}"),
    "moments": Capability("moments, which hold no rows,", "give the table itself"),
    "errors": Capability(
        f"errors of measurement in {{names}} ({option('reliability')})", f"leave out {option('reliability')}"
    ),
    "not robust": Capability(option("robust", False), f"leave out {option('robust')}"),
    "time": Capability(option("time"), f"leave out {option('time')}"),
    "random intercepts": Capability(option("intercepts", "random"), f"use {option('intercepts', 'fixed')}"),
    "joint traits": Capability(option("intercepts", "joint"), f"use {option('intercepts', 'fixed')}"),
    # columns and families
    "categories": Capability("the categor{y} {names}", _LEVELS),
    **{name: Capability(kind.words, kind.way_out) for name, kind in KINDS.items()},
    "curves": Capability("terms", "leave out terms"),
    # graphs
    "several graphs": Capability("several candidate graphs", "give one graph"),
    "open directions": Capability("open directions{of}", "give every edge one direction"),
    "categories inside": Capability("the categor{y} {names}, whose place in the order is open,", _LEVELS),
    "turned graphs": Capability("graphs that disagree about the direction of edges at {names}", "let them agree"),
    "hidden causes": Capability("hidden common causes", "leave them out of the graph"),
    "correlated errors": Capability("a hidden common cause{of}", _ASSUMED),
    "differing pairs": Capability(
        "graphs that differ in what acts on {names}", "let them agree there, or give one graph"
    ),
    # priors and engines
    "no intercept": Capability("a prior without intercept", _PAPER, PriorError),
    "other noise": Capability("{name}", _NOISE, PriorError),
    "shared": Capability("hyperparameters that all nodes share", "let each node have its own", PriorError),
    "uneven slabs": Capability("{name}", f"leave it out, or fix it with {option('slab_variance', 1.0)}", PriorError),
    "scale mixtures": Capability(option("engine", "{name}"), _AUTO, EngineError),
    "single columns": Capability(option("engine", "{name}"), _AUTO, EngineError),
    "another engine": Capability(option("engine", "{name}"), _AUTO, EngineError),
    "one graph known": Capability(option("engine", "{name}"), _AUTO, EngineError),
    "no evidence": Capability(option("engine", "{name}"), f"use {option('engine', 'exact', 'certified')}", EngineError),
    "no orders": Capability(option("engine", "{name}"), _ORDERS, EngineError),
    # questions
    "later steps": Capability(option("after"), f"leave out {option('after')}", AlldagsError),
    "rules of the past": Capability("a rule that reads {names}", "let it read what is of the same step", AlldagsError),
    "values by number": Capability("values that are given row by row", "name a column", AlldagsError),
    "decisions": Capability("decisions", error=AlldagsError),
    "evidence": Capability("evidence, which weighs several graphs and what nodes share,"),
    "chosen rows": Capability("chosen rows of over=", f"ask {option('over', 'sample', 'population')}", AlldagsError),
    "placebo": Capability("a placebo"),
    "sensitivity": Capability("sensitivity to a hidden cause", error=AlldagsError),
    "mean of set rows": Capability("the mean outcome where rows were set from outside", error=AlldagsError),
    "products": Capability("products of treatment and mediators", "ask with products=False", AlldagsError),
    "mediation": Capability("mediation", "use the effect itself", AlldagsError),
    "several mediators": Capability("several mediators", f"name one {either('in through=', 'of them')}", AlldagsError),
    "checks": Capability("checks", error=AlldagsError),
    "new unit": Capability("the outcome of a new unit", _MEAN, AlldagsError),
    "scenarios": Capability("several variables that are set at once", "set one variable", AlldagsError),
    "posterior.do": Capability("what is set by posterior.do", "set the treatment of one effect", AlldagsError),
    "counterfactuals": Capability("outcomes that single rows would have had", "use the effect itself", AlldagsError),
    "next steps": Capability("what to find out next", error=AlldagsError),
    "plan": Capability(option("by"), f"leave out {option('by')}", AlldagsError),
    "utility function": Capability("a function for utility", "give what one unit is worth", AlldagsError),
    "other rows": Capability("rows of another table", f"ask {option('over', 'sample')}", AlldagsError),
    "population": Capability(option("over", "population"), f"ask {option('over', 'sample')}", AlldagsError),
}


class _Row(NamedTuple):
    """One or several capabilities on either side; for the rest see `Meeting`."""

    first: str | tuple[str, ...]
    second: str | tuple[str, ...]
    reason: str
    way_out: str = ""


_NOT_NORMAL = tuple(KINDS)
_WEIGHTS = ("frequency weights", "sampling weights")
_COPIES = ("imputation", "completed tables")
_UNITS = ("random intercepts", "joint traits")
_TABLE = CAPABILITIES["moments"].without
_ORDERED = CAPABILITIES["open directions"].without
_COMPLETE = f"leave out {option('missing')}"
_NOT_PUSHED = "rows would have to be pushed on step by step, which is not done"

# The table: what, with what, why not; and the way out, if it is another than to do without the one or the other.
_ROWS = (
    _Row("completed tables", ("imputation", "dropped rows"), "nothing is missing in them", _COMPLETE),
    _Row("completed tables", "gaps", "nothing is missing in them", "complete these columns, too"),
    _Row("moments", ("imputation", "experiments", *_WEIGHTS, "clusters"), "each row has to be looked at", _TABLE),
    _Row("fixed effects", "moments", "each row has to be looked at", _TABLE),
    _Row("fixed effects", "imputation", "imputation does not know levels"),
    _Row("fixed effects", "gaps", "levels are taken out of all rows alike"),
    _Row("fixed effects", _NOT_NORMAL, "levels are taken out of straight lines with normal noise"),
    _Row("fixed effects", "curves", "levels are taken out of straight lines"),
    _Row("fixed effects", "no intercept", "they are intercepts", _PAPER),
    _Row(
        "errors",
        ("moments", "not robust", "other noise", "scale mixtures"),
        "rows say how uncertain an effect is under such errors",
    ),
    _Row("errors", "no intercept", "errors are taken out of variances", _PAPER),
    _Row(
        "errors", (*_NOT_NORMAL, "curves"), "errors are taken out of cross-products, for straight lines, normal noise"
    ),
    _Row("errors", _COPIES, "what is imputed has errors of its own"),
    _Row("errors", "gaps", "errors are taken out of cross-products of all rows alike"),
    _Row("errors", "experiments", "what was set has no error"),
    _Row("errors", ("time", "random intercepts", "joint traits"), "errors of one step would be causes of the next"),
    _Row("errors", "fixed effects", "how much error is left within levels is not known"),
    _Row("errors", ("open directions", "turned graphs"), "directions would depend on what is said of errors"),
    _Row("errors", ("hidden causes", "sensitivity"), "an error and a hidden cause are not told apart"),
    _Row(
        "errors",
        ("placebo", "chosen rows", "products", "counterfactuals", "plan"),
        "rows show values with their errors",
    ),
    _Row(_NOT_NORMAL, "open directions", "the form of a regression would decide directions"),
    _Row(_NOT_NORMAL, "moments", "means and covariances do not determine such a regression"),
    _Row(_NOT_NORMAL, "scale mixtures", "this engine is for straight lines with normal noise"),
    _Row(_NOT_NORMAL, "no intercept", "such a regression needs an intercept"),
    _Row(_NOT_NORMAL, "other noise", "this prior of the noise is for straight lines with normal noise"),
    _Row(
        "survival",
        ("hidden causes", "sensitivity"),
        "a hidden cause is measured by shares of variance, which a censored time does not have",
    ),
    _Row("survival", "imputation", "imputation does not know censored times"),
    _Row("survival", "gaps", "a time that is missing may have been censored"),
    _Row(
        "survival",
        ("mediation", "counterfactuals", "posterior.do"),
        "its own time in each row, which may be censored, is not drawn",
        f"use the effect itself, {_MEAN}, or for effect.survival",
    ),
    _Row("survival", "new unit", "its own time is not drawn", f"{_MEAN}, or for effect.survival"),
    _Row("correlated errors", _NOT_NORMAL, "correlated errors are modelled for straight lines with normal noise"),
    _Row("correlated errors", "curves", "correlated errors are modelled for straight lines"),
    _Row("correlated errors", "open directions", "it has to be known which of the two comes first"),
    _Row("correlated errors", "categories inside", "both, and instruments, have to be numbers"),
    _Row(
        "correlated errors", ("no intercept", "other noise"), "they have intercepts, and a prior of noise of their own"
    ),
    _Row("correlated errors", "uneven slabs", "a g-prior needs to know which columns are there", "use another slab"),
    _Row(
        "correlated errors",
        ("scale mixtures", "one graph known"),
        "correlated errors leave open what it takes as known",
    ),
    _Row("correlated errors", "differing pairs", "flat covariates have no evidence that could weigh these graphs"),
    _Row(
        "correlated errors",
        ("new unit", "other rows", "mean of set rows"),
        "what is known of the one's error says something of the other's, and they are not drawn together there",
    ),
    _Row(
        "correlated errors", "products", "correlated errors are modelled for straight lines", "ask with products=False"
    ),
    _Row("next steps", "hidden causes", "rows to come would have errors that go together, which are not drawn"),
    _Row(
        "posterior.do",
        "hidden causes",
        "computed is what one variable does that is set to a value in the rows of the fit, or along straight lines",
        f"ask {either('effect.do(value)', 'do')} for each value, or leave them out of the graph",
    ),
    _Row("curves", "turned graphs", "the form of a regression would decide directions"),
    _Row("curves", "open directions", "the form of a regression would decide directions"),
    _Row("curves", "moments", "curves are made from rows"),
    _Row("curves", "another engine", "this engine is for straight lines"),
    _Row("curves", "no intercept", "curves need an intercept"),
    _Row("curves", "other noise", "this prior of the noise is for straight lines"),
    _Row("curves", "shared", "each regression has columns of its own"),
    _Row("categories", "single columns", "levels enter and leave together, and this engine takes single columns"),
    _Row("categories inside", "open directions", "its levels would decide directions", _ORDERED),
    _Row("open directions", "no orders", "this engine does not average over orders"),
    _Row("open directions", "uneven slabs", "this prior would prefer directions that data cannot tell apart"),
    _Row("evidence", "no evidence", "this engine gives none"),
    _Row("chosen rows", (*_WEIGHTS, "experiments"), "chosen rows have to count alike"),
    _Row("chosen rows", "moments", "there are no rows to choose from"),
    _Row("placebo", ("experiments", *_COPIES, "gaps", *_WEIGHTS, "clusters"), "a placebo takes all rows for alike"),
    _Row("placebo", "moments", "values are dealt out among rows"),
    _Row("sensitivity", "open directions", "it has to be known what comes before what on the way"),
    _Row("sensitivity", "one graph known", "draws are needed of what this engine takes as known"),
    _Row(
        "products",
        (
            "turned graphs",
            "open directions",
            "moments",
            "another engine",
            "no intercept",
            "other noise",
            "fixed effects",
        ),
        "they are columns made from rows, as curves are",
    ),
    _Row("mediation", "other rows", "in nested worlds a row has mediators of its own, of which other rows have none"),
    _Row("several mediators", "open directions", "their order says what runs through which of them first"),
    _Row("mean of set rows", "categories", "a category has no mean"),
    _Row("other rows", "open directions", "an outcome follows from causes whose order has to be known", _ORDERED),
    _Row("scenarios", "open directions", "it has to be known what comes before what on the way", _ORDERED),
    _Row("scenarios", "hidden causes", "what they do to several variables together is not computed"),
    _Row("plan", "population", "a plan is for the rows that are there", f"ask {option('over', 'sample')}"),
    _Row("plan", "utility function", "what a mean outcome is worth does not add up over rows"),
    _Row("plan", (*_WEIGHTS, "experiments"), "rows that get an action have to count alike"),
    _Row("plan", "moments", "there are no rows to choose for", _TABLE),
    _Row("plan", "open directions", "it has to be known what comes before what on the way of a row", _ORDERED),
    _Row("plan", "hidden causes", "what they do to single rows is not computed"),
    _Row(
        ("new unit", "population", "other rows"),
        "fixed effects",
        "the intercept of a level that is not in the table is not known",
    ),
    _Row("mean of set rows", "fixed effects", "rows that were set may have levels whose intercepts are not known"),
    _Row("placebo", "fixed effects", "values are dealt out among all rows, not within levels"),
    _Row("time", "moments", "the past of each row has to be looked up", _TABLE),
    _Row("time", _COPIES, "imputation does not know what came before"),
    _Row("time", "gaps", "what came before has to be known of all rows"),
    _Row("time", "curves", "what acts step after step is carried on along straight lines"),
    _Row("placebo", "time", "values dealt out among rows would lose their order"),
    _Row(
        _UNITS,
        ("fixed effects", "clusters"),
        "each says that rows of a unit belong together",
    ),
    _Row(
        _UNITS,
        (
            *_WEIGHTS,
            "experiments",
            *_NOT_NORMAL,
            "open directions",
            "categories",
            "no intercept",
            "other noise",
            "scale mixtures",
            "turned graphs",
            "sensitivity",
            "hidden causes",
            "placebo",
            "checks",
            "new unit",
            "population",
            "other rows",
            "mean of set rows",
            "products",
            "scenarios",
            "plan",
        ),
        "intercepts of units are integrated out of straight lines with normal noise, of which every row counts alike",
    ),
    _Row(
        "joint traits",
        ("dropped rows", "several graphs", "shared", "another engine"),
        "all variables are found at once, in one walk",
    ),
    _Row(
        "later steps",
        tuple(name for name in _NOT_NORMAL if name != "student"),
        _NOT_PUSHED,
    ),
    _Row(
        "later steps",
        ("posterior.do", "decisions", "mediation", "counterfactuals"),
        _NOT_PUSHED,
        f"ask it of the same step, without {option('after')}",
    ),
    _Row(
        "later steps",
        "sensitivity",
        "a hidden cause would act in every step, and what that does later is not computed",
        f"ask it of the same step, {either('response.at(0).sensitivity()', 'without --after')}",
    ),
    _Row("rules of the past", "time", "a rule is followed in one step, and not in those that come after it"),
    _Row("values by number", "time", "rows are put in order, and first ones left out"),
    _Row("later steps", "scale mixtures", "draws are needed of edges that are present or absent"),
    _Row("later steps", "chosen rows", "it is the same for all rows"),
    _Row("later steps", "categories", "a change of levels is no number that is carried on"),
)


def _names(side: str | tuple[str, ...]) -> tuple[str, ...]:
    return (side,) if isinstance(side, str) else side


MEETINGS: dict[frozenset[str], Meeting] = {
    frozenset((one, other)): Meeting(one, other, reason, way_out)
    for first, second, reason, way_out in _ROWS
    for one in _names(first)
    for other in _names(second)
}


def check(asked: Asked) -> None:
    """Refuse, by name, what does not go together.

    Parameters
    ----------
    asked
        What is there or asked for, by the names in `CAPABILITIES`; with the variables that have it, or what it is
        called.

    Examples
    --------
    >>> from alldags.meetings import check
    >>> check({"clusters": (), "frequency weights": ()})
    >>> check({"clusters": (), "moments": ()})
    Traceback (most recent call last):
    ...
    alldags.errors.DataError: moments, which hold no rows, and cluster= do not go together: each row has to be...
    """
    for pair, meeting in MEETINGS.items():
        if pair <= asked.keys():
            raise refusal(meeting.one, meeting.other, asked)


def reason_against(name: str, asked: Asked) -> str:
    """Return what a capability does not go with, and why; empty if it goes with all that is asked.

    Examples
    --------
    >>> from alldags.meetings import reason_against
    >>> reason_against("curves", {"no intercept": ()})
    'a prior without intercept: curves need an intercept'
    """
    for other in asked:
        meeting = MEETINGS.get(frozenset((name, other)))
        if meeting is not None:
            return f"{_shown(CAPABILITIES[other], asked[other]).rstrip(',')}: {meeting.reason}"
    return ""


def refusal(one: str, other: str, asked: Asked) -> AlldagsError:
    """Return the error that says that two capabilities do not go together, why, and what to do."""
    meeting = MEETINGS[frozenset((one, other))]
    both = [CAPABILITIES[name] for name in (one, other)]
    way_out = meeting.way_out or _without((one, other))
    shown = [_shown(CAPABILITIES[name], asked.get(name, ())) for name in (one, other)]
    error = next((one.error for one in reversed(both) if one.error is not DataError), DataError)
    return error(f"{shown[0]} and {shown[1]} do not go together: {meeting.reason}; {way_out}")


def _without(names: Iterable[str]) -> str:
    """Return how to do without one of some capabilities."""
    return ", or ".join(filter(None, dict.fromkeys(CAPABILITIES[name].without for name in names)))


def _shown(capability: Capability, names: Sequence[str]) -> str:
    listed, s, y = some(map(repr, names)), *(("", "y") if len(names) == 1 else ("s", "ies"))
    of = f" of {listed}" if names else ""
    return capability.shown.format(names=listed, name=", ".join(names), of=of, s=s, y=y)


# -- its page ----------------------------------------------------------------------------------------------------------

_BEGIN, _END = "<!-- written by python -m alldags.meetings -->\n", "<!-- end -->\n"


def page_with_table(page: str) -> str:
    """Return the text of a page with the present table in the place of the one in it."""
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}{''.join(_lines())}{_END}{rest.partition(_END)[2]}"


def _lines() -> Iterator[str]:
    yield "| | does not go with | because | instead |\n| --- | --- | --- | --- |\n"
    for first, second, reason, given in _ROWS:
        one, other = _names(first), _names(second)
        instead = in_python(given or _without((*one, *other)), quote="`")
        yield f"| {', '.join(one)} | {', '.join(other)} | {reason} | {instead} |\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(page_with_table(target.read_text(encoding="utf-8")), encoding="utf-8")
