"""Yes/no children and counts whose rows are at several sites and stay there: only sums over rows travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from alldags.columns.base import Columns
from alldags.columns.line import Line
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.data.moments import Moments
from alldags.data.source import open_source
from alldags.engines import resolve
from alldags.engines.weighted.design import Design
from alldags.engines.weighted.fit import fit_sums
from alldags.engines.weighted.posterior import WeightedPosterior
from alldags.engines.weighted.sites import Reply, SharedDesign, Site, reply_to
from alldags.errors import DataError, GraphError, did_you_mean
from alldags.families.base import Family
from alldags.families.count import Poisson
from alldags.families.yes_no import Bernoulli
from alldags.graph.candidate import CandidateGraph
from alldags.graph.others import as_graphs
from alldags.models.number import is_one_number, learning, uncounted
from alldags.nodes.build import linear_terms
from alldags.nodes.data import working_data
from alldags.nodes.posterior import Engine
from alldags.nodes.rows import CountedRows, NodeRows
from alldags.priors.prior import Prior
from alldags.show.table import Table
from alldags.typing import RandomSource

_NAMES: dict[str, Family] = {"bernoulli": Bernoulli(), "poisson": Poisson()}
_ASKS = ("totals", "statistics", "log_likelihoods", "squared_residuals")


@dataclass(frozen=True, eq=False)
class SiteRegression:
    """The regression of a yes/no child or count whose rows are at several sites. Made by `fit_sites`.

    Parameters
    ----------
    child
        Name.
    node
        Its posterior: coefficients of standardised causes on the log-odds (log rate) scale.
    scale
        Standard deviation of each cause, in its own units.
    rounds
        How often every site was asked.
    """

    child: str
    node: WeightedPosterior
    scale: Mapping[str, float]
    rounds: int

    def edges(self) -> Table:
        """Return each candidate cause: its probability, and mean and sd of its coefficient per unit of the cause."""
        node = self.node
        sd = np.sqrt(np.maximum(np.diag(node.second_moment) - node.mean**2, 0.0))
        unit = np.array([1.0 / self.scale[name] for name in node.parents])
        found = [float("nan")] * len(unit) if node.inclusion is None else node.inclusion.tolist()
        return Table(
            {
                "cause": list(node.parents),
                "prior": node.prior_inclusion.tolist(),
                "posterior": found,
                node.family.link_words: (node.mean * unit).tolist(),
                "sd": (sd * unit).tolist(),
            }
        )

    @property
    def log_evidence(self) -> float | None:
        """Log marginal likelihood, averaged over sets of causes."""
        return self.node.log_evidence

    def __repr__(self) -> str:
        rows = self.node.diagnostics
        return (
            f"SiteRegression({self.child!r}, {self.node.problem.rows:,.0f} rows, {self.rounds} rounds, {rows.engine})"
        )


def fit_sites(
    sites: Sequence[Site],
    moments: Moments,
    graph: Any,
    child: str,
    *,
    family: str | Family = "bernoulli",
    prior: Prior | None = None,
    engine: str | Engine = "auto",
    rng: RandomSource = None,
) -> SiteRegression:
    """Average the regression of a yes/no child, or a count, over its candidate causes, with rows at several sites.

    Sites are asked about ten times for sums at a point that all of them are told, and once for the log-likelihoods of
    draws. The answer is that of all rows in one table.

    Parameters
    ----------
    sites
        One function for each: it gets a request, a dictionary that JSON can hold, and returns what `site_reply` returns
        where the rows are. How the two travel is yours to choose.
    moments
        Of the rows of all sites, see `Moments`: units, and the number of rows.
    graph
        The candidate graph, of which the causes of the child matter.
    child
        Name.
    family
        ``"bernoulli"``, ``"poisson"``, or `Poisson` with its offset.
    prior, engine, rng
        As for `fit`.

    Examples
    --------
    >>> import alldags as ad, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(60, 10, 300)
    >>> death = (rng.random(300) < 1 / (1 + np.exp(6 - age / 10))).astype(float)
    >>> tables = [{"age": age[i::2], "death": death[i::2]} for i in (0, 1)]
    >>> moments = ad.read_moments(tables[0]) + ad.read_moments(tables[1])
    >>> sites = [lambda request, table=table: ad.sites.site_reply(table, request) for table in tables]
    >>> found = ad.sites.fit_sites(sites, moments, {"death": ["age"]}, "death", rng=0)
    >>> round(found.edges()["posterior"][0], 3)
    1.0
    """
    graphs = as_graphs(graph)
    if len(graphs) > 1 or graphs[0].blocks:
        raise GraphError("sites take one candidate graph whose directions are known")
    _check_child(graphs[0], child)
    chosen = _family(family)
    terms = linear_terms(graphs[0], child)
    prior = Prior() if prior is None else prior
    prior = learning(prior) if is_one_number(terms, uncounted(graphs[0], prior, child)) else prior
    data = working_data(moments, prior, (child, *terms.names))
    center = dict(zip(data.pooled.names, (data.pooled.mean * data.scale).tolist(), strict=True))
    scale = dict(zip(data.pooled.names, data.scale.tolist(), strict=True))
    about: dict[str, Any] = {"child": child, "family": chosen.name, "offset": chosen.offset, "terms": list(terms.names)}
    about |= {"center": center, "scale": scale}
    design = SharedDesign(child, chosen, terms.names, data.rows, tuple(sites), about)
    node = fit_sums(design, terms, prior, resolve(engine), np.random.default_rng(rng))
    return SiteRegression(child, node, scale, design.rounds)


def site_reply(table: Any, request: Mapping[str, Any], names: Sequence[str] | None = None) -> Reply:
    """Return what a site tells `fit_sites`: sums over its rows, as a dictionary that JSON can hold.

    Parameters
    ----------
    table
        The site's rows: anything that `fit` takes as a table.
    request
        As it came.
    names
        Column names, if `table` is an array.
    """
    if request.get("ask") not in _ASKS:
        raise DataError(f"a request asks for one of {', '.join(_ASKS)}, got {request.get('ask')!r}")
    family = Poisson(request["offset"]) if request["family"] == "poisson" else _family(request["family"])
    wanted = [*request["terms"], request["child"], *([] if family.offset is None else [family.offset])]
    rows = RowTable(open_source(table, names).numbers(wanted))
    if request["ask"] == "totals":
        _check_values(rows, request["child"], family)
    center, scale = (np.array([request[what][name] for name in request["terms"]]) for what in ("center", "scale"))
    columns = Columns(tuple(map(Line, request["terms"])), center, scale)
    return reply_to(Design.of(NodeRows(CountedRows(request["child"], Rows(rows)), family, columns)), request)


def _check_values(rows: RowTable, child: str, family: Family) -> None:
    values = [block[:, 0] for block in rows.batches([child])]
    if sum(map(len, values)) < rows.columns.rows:
        raise DataError("this site's table has missing values; leave those rows out before moments are made")
    family.check(child, chain(values, [np.array([0.0, 1.0])]))  # one site may have no event


def _check_child(graph: CandidateGraph, child: str) -> None:
    if child not in graph.variables:
        raise GraphError(f"the child {child!r} is not in the graph{did_you_mean(child, graph.variables)}")


def _family(family: Any) -> Family:
    if isinstance(family, Bernoulli | Poisson):
        return family
    if family not in _NAMES:
        raise DataError(f"family must be 'bernoulli', 'poisson' or Poisson(offset=...), got {family!r}")
    return _NAMES[family]
