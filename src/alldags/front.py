"""`effect`: the front door. How large is the effect of one column on another, given what may confound it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alldags.errors import GraphError
from alldags.fitting import fit
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import names_tuple
from alldags.graph.hidden import Valid
from alldags.results.effect import Effect

Tiers = Sequence[str | Sequence[str]]


def effect(
    table: Any,
    *,
    treatment: str,
    outcome: str,
    confounders: Sequence[str] = (),
    mediators: Tiers = (),
    instruments: Sequence[str] = (),
    valid: Valid = 1.0,
    probability: float | None = None,
    over: Any = "sample",
    **options: Any,
) -> Effect:
    """Return the posterior of the effect of a treatment on an outcome, averaged over what may act on what.

    Confounders may act on all others, the treatment on mediators and outcome, mediators on the outcome; each of these
    edges has the probability 1/2. That the treatment acts on the outcome is taken for certain: the question is how
    large the effect is, not whether there is one. The graph is in ``effect.posterior.graphs``, and `alldags.fit` takes
    any other.

    Parameters
    ----------
    table
        As for `alldags.fit`.
    treatment, outcome
        Names of two columns.
    confounders
        Columns that may act on both, measured before the treatment; empty if it was randomised.
    mediators
        Columns that the treatment may act on, and that may act on the outcome. A list inside the list is a tier: its
        columns may act on those that come later.
    instruments
        Columns that act on the treatment, and on all after it only through it. Something unmeasured may then act on
        treatment and outcome, and the data tell by the instruments how strong it is; see `Effect.hidden`.
    valid
        Probability that each instrument is one; ``"some"``: the share of those that are is unknown.
    probability
        That the treatment acts on the outcome directly; None: it is certain.
    over
        As for `Posterior.effect`.
    **options
        All that `alldags.fit` takes beside table and graph, such as ``categories=["education"]`` (columns of whole
        numbers that are codes), ``missing="impute"``, ``cluster="school"``, ``families``, ``prior`` or ``rng``.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.effect(
    ...     study.table, treatment="smoking", outcome="risk", confounders=["age", "sex", "income"],
    ...     mediators=["tar", "exercise"], rng=0,
    ... )
    >>> round(effect.mean, 1), effect.probability_no_effect
    (0.9, 0.0)
    """
    graph = study_graph(treatment, outcome, confounders, mediators, probability, instruments, valid)
    return fit(table, graph, **options).effect(treatment, outcome, over)


def study_graph(
    treatment: str,
    outcome: str,
    confounders: Sequence[str] = (),
    mediators: Tiers = (),
    probability: float | None = None,
    instruments: Sequence[str] = (),
    valid: Valid = 1.0,
) -> CandidateGraph:
    """Return the candidate graph of a study; arguments as for `effect`.

    Examples
    --------
    >>> from alldags.front import study_graph
    >>> graph = study_graph("drug", "pain", ["age"], ["dose"])
    >>> graph.probability("age", "pain"), graph.probability("drug", "pain")
    (0.5, 1.0)
    >>> study_graph("drug", "pain", ["age"], instruments=["lottery"]).hidden
    mappingproxy({('drug', 'pain'): 1.0})
    """
    sources = names_tuple(instruments, "instruments")
    first = names_tuple(confounders, "confounders")
    between = [(tier,) if isinstance(tier, str) else names_tuple(tier, "a tier") for tier in _tiers(mediators)]
    places = [("treatment", treatment), ("outcome", outcome), *(("confounders", name) for name in first)]
    places += [("mediators", name) for tier in between for name in tier]
    _check_once([*places, *(("instruments", name) for name in sources)])
    tiers = [tier for tier in ((*first, *sources), (treatment,), *_together(mediators, between), (outcome,)) if tier]
    graph = CandidateGraph.from_tiers(tiers).with_edge(treatment, outcome, 1.0 if probability is None else probability)
    if not sources:
        return graph
    return graph.instruments(sources, treatment, valid).with_hidden(treatment, outcome, 1.0)


def _tiers(mediators: Tiers) -> Tiers:
    if isinstance(mediators, str):
        raise GraphError(f"mediators must be a list of names; write mediators=[{mediators!r}]")
    return mediators


def _together(mediators: Tiers, tiers: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return one tier for mediators that were named one by one, else those that were written down."""
    alone = all(isinstance(tier, str) for tier in mediators)
    return [tuple(name for tier in tiers for name in tier)] if alone else tiers


def _check_once(places: Sequence[tuple[str, str]]) -> None:
    """Refuse a column that stands in two places."""
    known: dict[str, str] = {}
    for place, name in places:
        if name in known:
            both = place if known[name] == place else f"{known[name]} and {place}"
            raise GraphError(f"{name!r} stands twice, in {both}; a column has one place in a study, name it once")
        known[name] = place
