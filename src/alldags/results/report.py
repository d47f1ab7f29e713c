"""From an `Effect` to the `Report` that its HTML is made from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from alldags.answers.closed import ClosedAnswer
from alldags.assumptions.checks import checks_work
from alldags.effects.influence import EdgeInfluence, edge_influences, edge_prior, edge_probability
from alldags.errors import AlldagsError
from alldags.files import write_text
from alldags.graph.edges import Edge
from alldags.graph.io import format_graph
from alldags.nodes.build import ALMOST_CERTAIN
from alldags.priors.words import prior_words
from alldags.progress import Progress
from alldags.recipes.origin import installed, origin_of, script_of
from alldags.results.hidden_line import represented_line
from alldags.results.kept import KEPT, after_the_data
from alldags.results.summarize import computed_line, engine_names
from alldags.show.numbers import amount, no_effect, percent, sampled_percent
from alldags.show.report.record import EdgeFacts, PathFacts, RegressionFacts, Report, Section
from alldags.show.sensitivity import hidden_sentence, whole_share
from alldags.show.summary import EffectSummary
from alldags.show.table import Table

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_Item = TypeVar("_Item")
_MOST_PATHS = 8
_MOST_MEDIATORS = 12
_MOST_STEPS, _FUTURES = 8, 8  # of what could be found out next
_MOST_INFLUENCES = 80  # edges whose influence is looked for
_MOST_CHECKING = 2e9  # rows times squared causes that are looked at for a report
_MOST_FITS = 20  # variables whose own causes are looked for only to be drawn


def write_report(effect: Effect, target: str | os.PathLike[str], level: float = 0.95, command: str = "") -> None:
    """Write the report on an effect to a file; of a category of which no two levels were named, of first and last."""
    from alldags.show.report.page import report_html

    ending = os.path.splitext(os.fspath(target))[1]
    if ending.lower() not in ("", ".html", ".htm"):
        raise AlldagsError(
            f"a report is a file of HTML, which a browser opens and prints; call it report.html, not *{ending}"
        )
    if effect._is_open:
        words = effect.posterior.workings.data.levels[effect.treatment].words
        effect = effect.contrast(words[0], words[-1])
    write_text(target, report_html(effect_report(effect, level, command)))


def effect_report(effect: Effect, level: float = 0.95, command: str = "", *, checks: bool = True) -> Report:
    """Write down all that a report on an effect says.

    Parameters
    ----------
    effect
        The answer.
    level
        Of the interval.
    command
        The command line that asked for it; empty if none did.
    checks
        Whether to make the checks, too.
    """
    summary = effect.summary(level)
    graph = effect.workings.models.heaviest.graph
    parts = _CHECKS if checks else ()
    shown = None if effect.posterior.workings.store.progress else False
    with Progress("making the report", len(graph.edges) + len(parts), show=shown) as bar:
        edges = tuple(_advancing(bar, _edge_facts(effect)))
        sections = tuple(section for part in _advancing(bar, parts) for section in part(effect, summary))
    return Report(
        summary=summary,
        draws=effect.uncertainty.sample.draws,
        variables=graph.variables,
        tiers=graph.tiers(),
        edges=edges,
        several=len(effect.posterior.graphs) > 1,
        paths=_facts(effect.paths(_MOST_PATHS), "path") if summary.has_path and _can(effect, "paths") else (),
        mediators=_mediators(effect),
        regressions=_regressions(effect, summary),
        origin=origin_of(effect.posterior),
        graph_file=("TOML", format_graph(graph, "toml")),
        python=script_of(effect, effect.posterior),
        prior=prior_words(effect.posterior.workings.models.items[0].prior),
        version=installed("alldags"),
        plain_mean=effect.answer.mean,
        adds_up=not effect.measure,
        hidden=tuple(f"{first} ↔ {second} ({percent(p)})" for (first, second), p in graph.hidden.items()),
        least_absent=1.0 - ALMOST_CERTAIN,
        command=command,
        checks=sections,
    )


def _advancing(bar: Progress, items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield what is worked on one by one, and say so."""
    for item in items:
        yield item
        bar.advance()


def _can(effect: Effect, name: str) -> bool:
    """Tell whether an effect has an answer to a question."""
    return name not in effect.answer.lacks


def _mediators(effect: Effect) -> tuple[PathFacts, ...]:
    """Return what runs through each variable in between, along straight lines; nothing if their order is open."""
    totals = effect.workings.totals.items
    names = dict.fromkeys(name for total in totals for name in total.span.variables[1:-1])
    if not 0 < len(names) <= _MOST_MEDIATORS or not _is_closed(effect) or any(total.order_blocks for total in totals):
        return ()
    parts = effect.mediation(list(names), products=False).parts if _can(effect, "mediation") else {}
    return tuple(PathFacts(name, part.mean, part.sd, None) for name, part in parts.items())


def _is_closed(effect: Effect) -> bool:
    return isinstance(effect.answer, ClosedAnswer)


# -- checks ----------------------------------------------------------------------------------------------------------


def next_sections(effect: Effect, summary: EffectSummary) -> tuple[Section, ...]:
    """Say what to find out next, where that is known without many fits."""
    if not summary.has_path:
        return ()
    try:
        found = effect.next_steps(futures=_FUTURES)
    except AlldagsError:  # no rows at hand, or nothing to narrow
        return ()
    rows = tuple(
        (step.words, amount(summary, step.before), amount(summary, step.sd), f"{step.removed:.0%}")
        for step in found.steps[:_MOST_STEPS]
    )
    said = found.sentence, "Averages over what is not known yet: graphs, coefficients, and chance in rows to come."
    return (Section("What to find out next", said, ("step", "sd now", "sd after", "variance removed"), rows),)


def _every_pair(effect: Effect, summary: EffectSummary) -> tuple[Section, ...]:
    """Show what every change of levels does, of a treatment that is a category."""
    if effect.treatment not in effect.posterior.workings.data.categories or effect._question.on_link:
        return ()
    found = effect.contrasts(summary.level)
    rows = tuple(
        (row["start"], row["stop"], _interval(summary, row), _ends(summary, row["low_all"], row["high_all"]))
        for row in found.table.rows()
    )
    best = ", ".join(f"{name} {sampled_percent(p)}" for name, p in found.probability_best.items())
    said = f"The probability of the highest {effect.outcome}, level by level: {best}."
    return (Section("Every pair of levels", (said,), ("from", "to", "effect", "all at once"), rows),)


def _ends(summary: EffectSummary, low: float, high: float) -> str:
    return f"{amount(summary, low)} to {amount(summary, high)}"


def _assumptions(effect: Effect, summary: EffectSummary) -> tuple[Section, ...]:
    """Show what the data say of the assumptions."""
    if not summary.has_path:
        return ()
    title, posterior = "Do the data fit the assumptions?", effect.posterior
    if checks_work(posterior, effect.treatment, effect.outcome) > _MOST_CHECKING:
        return (Section(title, ("Not looked at here, because there are many rows: ask for checks.",)),)
    found = posterior.checks(effect.treatment, effect.outcome)
    said = (found.sentence(), *(_capital(text) + "." for text in found.texts()))
    left = tuple(f"Not looked at: {text}." for text in found.not_made)
    return (Section(title, (*said, *left), ("check", "made", "to look at"), found.overview()),)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _stability(effect: Effect, summary: EffectSummary) -> tuple[Section, ...]:
    """Show the answer under other priors, where all regressions are quick."""
    scale_mixture = effect.posterior.workings.models.items[0].prior.coefficients is not None
    if not summary.has_path or scale_mixture or set(effect.uncertainty.engines.values()) != {"exact"}:
        return ()
    table = effect.checks.stability()
    rows = tuple(
        (row["variant"], _interval(summary, row), _no_effect(summary, row["probability_no_effect"]))
        for row in table.rows()
    )
    said = table.note or "The answer stays the same with other edge probabilities, priors and engines."
    return (Section("With other choices", (said[0].upper() + said[1:],), ("choice", "effect", "no effect"), rows),)


def _no_effect(summary: EffectSummary, probability: float | None) -> str:
    return "-" if probability is None else no_effect(summary, probability)


def _hidden_cause(effect: Effect, summary: EffectSummary) -> tuple[Section, ...]:
    """Say how strong a hidden common cause would have to be, and what one as strong as a covariate would do."""
    hidden = summary.hidden or represented_line(effect, summary.level)
    if hidden is None:
        return ()
    of = f"share of {hidden.of_treatment}".rstrip(",")
    columns = ("as strong as", of, "of unexplained variance of outcome", "effect, if away from zero", "if towards zero")
    asked = effect.sensitivity()
    along = dict(zip(*(asked.benchmarks(sign="along")[name] for name in ("as strong as", "mean")), strict=True))
    rows = tuple(
        (
            row["as strong as"],
            whole_share(row["r2_treatment"]),
            whole_share(row["r2_outcome"]),
            _interval(summary, row),
            amount(summary, along[row["as strong as"]]),
        )
        for row in asked.benchmarks().rows()
    )
    said = (
        hidden_sentence(hidden),
        "The last columns are the effect if a cause as strong has pushed the estimate away from zero, or towards it.",
        "The data do not say whether there is such a cause.",
    )
    return (Section("If something is unmeasured", said, columns if rows else (), rows),)


def _interval(summary: EffectSummary, row: dict[str, float]) -> str:
    mean, low, high = (amount(summary, row[name]) for name in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


_CHECKS: tuple[Callable[[Effect, EffectSummary], tuple[Section, ...]], ...] = (
    _every_pair,
    _assumptions,
    _hidden_cause,
    _stability,
    next_sections,
)  # each is a part of the report


# -- edges -----------------------------------------------------------------------------------------------------------


def _edge_facts(effect: Effect) -> Iterator[EdgeFacts]:
    """Yield the edges of the graph that is drawn; those that bear on the effect with what they do to it."""
    found = _linear_influences(effect) if _is_closed(effect) else _risk_influences(effect)
    for edge in effect.workings.models.heaviest.graph.edges:
        yield found.get(edge) or _plain(effect, edge)


def _after(effect: Effect, edge: Edge) -> float | None:
    """Return the probability of an edge after the data, by itself."""
    found = after_the_data(effect)(edge)
    return None if math.isnan(found) else found


def _linear_influences(effect: Effect) -> dict[Edge, EdgeFacts]:
    found = edge_influences(effect.workings.totals, _MOST_INFLUENCES) or []
    return {(item.cause, item.effect): _influential(effect, item) for item in found}


def _risk_influences(effect: Effect) -> dict[Edge, EdgeFacts]:
    """Return what the effect's own table says of each edge; there is no closed form to move one."""
    if effect.answer.drawn is None:
        return {}
    return {
        (row["cause"], row["effect"]): EdgeFacts(
            row["cause"],
            row["effect"],
            prior=row["prior"],
            posterior=row["posterior"],
            kept=row.get(KEPT, row["posterior"]),
            present=row["effect_if_present"],
            absent=row["effect_if_absent"],
            removed=row["variance_removed"],
            flips_at=row["sign_flips_at"],
        )
        for row in effect.edge_influence().rows()
    }


def _influential(effect: Effect, item: EdgeInfluence) -> EdgeFacts:
    unit, sd, p = effect.workings.unit, effect.sd, item.posterior
    present, absent = unit * item.mean_present, unit * item.mean_absent
    known = math.isfinite(sd) and sd > 0 and 0 < p < 1
    return EdgeFacts(
        item.cause,
        item.effect,
        prior=item.prior,
        posterior=_after(effect, (item.cause, item.effect)),
        kept=p,
        raised=item.raised,
        present=present,
        absent=absent,
        removed=_removed(item, unit, sd) if known else 0.0,
        flips_at=item.sign_flip_prior,
        moves=item.moves and len(effect.workings.models.items) == 1,
        reverse=item.reverse,
        turned=unit * item.mean_reverse if item.reverse else math.nan,
    )


def _removed(item: EdgeInfluence, unit: float, sd: float) -> float:
    """Return the share of the variance that knowing an edge, or the state of an open pair, would remove."""
    if item.reverse:
        return unit**2 * item.spread / sd**2
    return item.posterior * (1 - item.posterior) * (unit * (item.mean_present - item.mean_absent) / sd) ** 2


def _plain(effect: Effect, edge: Edge) -> EdgeFacts:
    """Return an edge that does not bear on the effect: certain, or into a variable before the treatment."""
    models = effect.workings.models
    prior = models.prior_average(lambda model: edge_prior(model, edge)) if _is_fitted(effect, edge[1]) else None
    if prior is None:
        return EdgeFacts(*edge, prior=models.heaviest.graph.edges[edge], posterior=None)
    kept = models.average(lambda model: edge_probability(model, edge))
    return EdgeFacts(*edge, prior=prior, posterior=_after(effect, edge), kept=None if math.isnan(kept) else kept)


def _is_fitted(effect: Effect, child: str) -> bool:
    """Tell whether a variable's causes are known, or cheap enough to look for."""
    reached = effect.workings.reached
    return child in reached or child == effect.treatment or len(effect.posterior.variables) <= _MOST_FITS


# -- tables ----------------------------------------------------------------------------------------------------------


def _facts(table: Table, name: str) -> tuple[PathFacts, ...]:
    return tuple(PathFacts(row[name], row["mean"], row["sd"], row.get("probability")) for row in table.rows())


def _regressions(effect: Effect, summary: EffectSummary) -> tuple[RegressionFacts, ...]:
    explained = {item.name: max(item.r2, 0.0) for item in summary.explained}
    nodes = {node.problem.child: node for total in effect.workings.totals.items for node in total.nodes()}
    engines = engine_names(effect)
    return tuple(
        RegressionFacts(
            name=child,
            candidates=len(node.parents),
            computed=computed_line([engines[child]]).removeprefix("1 regression "),
            r2=explained.get(child),
            reliable=node.diagnostics.is_reliable,
        )
        for child, node in nodes.items()
    )
