"""Where an answer came from: versions, prior and seed, and the Python that asks again."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from alldags.answers.held import HeldEffect, HeldPosterior
from alldags.answers.treatment_values import treatment_word
from alldags.graph.candidate import CandidateGraph
from alldags.priors.prior import Prior
from alldags.recipes.asked import Asked
from alldags.recipes.recipe import Recipe


class MadePosterior(HeldPosterior, Protocol):
    """What is asked of a posterior; see `alldags.Posterior` for the meaning of each."""

    recipe: Recipe | None

    @property
    def graphs(self) -> tuple[CandidateGraph, ...]: ...
    @property
    def engine(self) -> str: ...


def origin_of(posterior: MadePosterior) -> tuple[tuple[str, str], ...]:
    """Return what decided a posterior beside the data, each with its name."""
    packages = ", ".join(f"{name} {found}" for name in ("numpy", "scipy", "numba") if (found := installed(name)))
    return (
        ("rows", f"{posterior.rows:,.0f}"),
        ("prior", _prior(posterior)),
        ("engine", posterior.engine),
        ("seed", _seed(posterior) or "not a single number"),
        ("alldags", installed("alldags")),
        ("Python", f"{platform.python_version()} with {packages}"),
    )


def installed(name: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _seed(posterior: MadePosterior) -> str:
    """Return the whole number that gives these draws again, or an empty string if no single one does."""
    seed = posterior.workings.seed
    return str(seed.entropy) if isinstance(seed.entropy, int) and len(seed.spawn_key) == 1 else ""


def _prior(posterior: MadePosterior) -> str:
    """Return the prior as Python, by its name if it has one; a value that nodes share is one of several."""
    models = posterior.workings.models.items
    prior = models[0].prior
    named = {"ad.Prior()": Prior(), "ad.Prior.paper()": Prior.paper(), "ad.Prior.v01()": Prior.v01()}
    found = next((name for name, one in named.items() if one == prior), _in_python(prior))
    values = sum(model.prior not in [other.prior for other in models[:place]] for place, model in enumerate(models))
    return found if values == 1 else f"{found}  # one of {values} shared values"


def _in_python(prior: Prior) -> str:
    """Return a prior as the call that makes it."""
    parts = re.sub(r"\b([A-Z]\w+)\(", r"ad.priors.\1(", repr(prior))
    return parts.replace("ad.priors.Prior(", "ad.Prior(")


def _contrast(effect: HeldEffect) -> str:
    """Return the call that names two levels of a category; empty for any other treatment."""
    values = effect.answer.question.comparison.values
    if values is None or effect.treatment not in effect.posterior.workings.data.categories:
        return ""
    start, stop = (treatment_word(effect, value) for value in values)
    return f".contrast({start!r}, {stop!r})"


def script_of(effect: HeldEffect, posterior: MadePosterior) -> str:
    """Return the Python that asks for an effect of a posterior."""
    recipe = posterior.recipe
    asked = Asked() if recipe is None else recipe.asked
    options = f", engine={posterior.engine!r}" if posterior.engine != "auto" else ""
    options += f", rng={_seed(posterior)}" if _seed(posterior) else ""
    graphs = "graph" if len(posterior.graphs) == 1 else "[graph, ...]"
    table = f'"{asked.table or "study.csv"}"'
    return "\n".join(
        [
            "import alldags as ad",
            "",
            *(f"{name} = ...  # as you gave it" for name in asked.unwritten),
            'graph = ad.read_graph("graph.toml")  # the candidate graph below',
            f"prior = {_prior(posterior)}",
            f"posterior = ad.fit({table}, {graphs}, prior=prior{options}{asked.arguments})",
            f"effect = posterior.effect(treatment={effect.treatment!r}, outcome={effect.outcome!r}){_contrast(effect)}",
            "print(effect)",
        ]
    )
