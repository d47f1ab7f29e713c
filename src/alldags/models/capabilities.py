"""What graphs, prior and engine of a fit are, by the names of `alldags.meetings`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from alldags.engines.suits import takes_groups
from alldags.families.base import Family
from alldags.graph.candidate import CandidateGraph
from alldags.models.components import turned
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import Engine
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior


def model_asks(graphs: Sequence[CandidateGraph], prior: Prior, engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return what graphs, prior and engine are."""
    found = {
        "several graphs": len(graphs) > 1,
        "turned graphs": bool(turned(graphs, prior)),
        "open directions": any(graph.blocks for graph in graphs),
        "hidden causes": any(graph.hidden for graph in graphs),
        "no intercept": not prior.intercept,
        "other noise": not isinstance(prior.noise, UnknownNoise),
        "shared": prior.has_shared,
        "scale mixtures": ScaleMixture in getattr(engine, "takes", ()) or prior.coefficients is not None,
        "single columns": not takes_groups(engine),
        "another engine": engine.name != "auto",
    }
    opened = dict.fromkeys(name for graph in graphs for block in graph.blocks for name in block)
    names: dict[str, tuple[str, ...]] = {"other noise": (repr(prior.noise),), "open directions": tuple(opened)}
    names["turned graphs"] = tuple(sorted(turned(graphs, prior)))
    names |= dict.fromkeys(("scale mixtures", "single columns", "another engine"), (engine.name,))
    return {name: names.get(name, ()) for name, is_so in found.items() if is_so}


def open_categories(names: Collection[str], graphs: Iterable[CandidateGraph]) -> dict[str, tuple[str, ...]]:
    """Return the categories whose own place in the order is open."""
    members = {name for graph in graphs for block in graph.blocks for name in block}
    inside = tuple(name for name in names if name in members)
    return {"categories inside": inside} if inside else {}


def data_asks(data: WorkingData) -> dict[str, tuple[str, ...]]:
    """Return what intercepts units have in a fit, fixed, random or joint traits, and errors of measurement."""
    found = {
        "fixed effects": data.is_within,
        "random intercepts": bool(data.pooled.variants),
        "joint traits": data.traits is not None,
    }
    asked: dict[str, tuple[str, ...]] = {name: () for name, is_so in found.items() if is_so}
    return {**asked, "errors": tuple(data.errors)} if data.errors else asked


def outcome_asks(data: WorkingData, outcome: str, way: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the family of an outcome that is not normal, and categories on the way to it."""
    on_it = {name: family for name, family in data.families.items() if name in way and family.takes_levels}
    return family_asks(on_it | {name: family for name, family in data.families.items() if name == outcome})


def family_asks(families: Mapping[str, Family]) -> dict[str, tuple[str, ...]]:
    """Return the children of each family that is not normal."""
    kinds = dict.fromkeys(family.name for family in families.values())
    return {kind: tuple(name for name, family in families.items() if family.name == kind) for kind in kinds}
