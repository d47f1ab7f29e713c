"""`fit_node`: from what a child's regression is made of to its posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from alldags.engines.intercepts import over_intercepts
from alldags.nodes.build import build
from alldags.nodes.copies import CopiedPosterior
from alldags.nodes.onto import ParentsPosterior, RootCategory
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.spec import NodeSpec
from alldags.nodes.stacked import CategoryPosterior, LevelsPosterior


def fit_node(
    spec: NodeSpec, engine: Engine, rng: np.random.Generator, like: NodePosterior | None = None
) -> NodePosterior:
    """Return the posterior of one child's regression, read onto its candidate causes.

    Where moments determine it, the engine is all there is. Else the log-likelihood is expanded and draws are weighed,
    or derived columns are made from the rows; `like` is the same regression in a table that is much alike.
    """
    if spec.child in spec.data.categories:
        return _of_category(spec, engine, rng) if spec.family is None else _of_levels(spec, engine, rng)
    if spec.family is not None and spec.family.parts:
        from alldags.engines.parts import fit_divided

        return fit_divided(spec, spec.family.parts, lambda one, *rest: fit_node(one, engine, *rest), rng, like)
    if spec.wanted is not None:
        from alldags.engines.curves.fit import fit_curves

        return fit_curves(spec, rng, like)
    posterior = _over_columns(spec, engine, rng)
    posterior.mean  # noqa: B018  - computed here, so that many nodes are in parallel
    if spec.kinds is not None:
        return CopiedPosterior(posterior, spec.terms.names, spec.kinds)
    own = posterior.parents == spec.terms.names
    return posterior if own else ParentsPosterior(posterior, spec.terms.names)


def _over_columns(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the posterior over lines and levels."""
    if spec.family is None:
        return _over_moments(spec, engine, rng)
    from alldags.engines.weighted.fit import fit_rows

    return fit_rows(spec.rows(spec.family), spec.coefficient_terms, spec.prior, engine, rng)


def _over_moments(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the posterior that moments determine, whatever intercepts units have."""
    if spec.data.traits is not None and spec.child in spec.data.traits.children:
        return spec.data.traits.node(spec)
    if spec.data.of(spec.child).variants:
        return over_intercepts(spec, engine, rng)
    return engine(spec.problem(), rng)


def _of_levels(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the node of a category whose levels have probabilities."""
    posterior = _over_columns(spec, engine, rng)
    posterior.mean  # noqa: B018  - computed here, so that many nodes are in parallel
    return LevelsPosterior(posterior, spec.terms.names)


def _of_category(spec: NodeSpec, engine: Engine, rng: np.random.Generator) -> NodePosterior:
    """Return the node of a category: what acts on it, if anything may."""
    if spec.terms.names:
        return CategoryPosterior(engine(spec.problem(), rng), spec.terms.names)
    own = replace(spec.terms, child=spec.data.categories[spec.child][0])
    return RootCategory(replace(build(spec.data.of(spec.child), own, spec.prior), child=spec.child))
