"""`Effect.to`: the answer in other formats."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from alldags import checks
from alldags.priors.words import prior_words
from alldags.show.json import effect_dict
from alldags.show.paper import effect_latex, effect_markdown, methods_paragraph
from alldags.show.words import sentence
from alldags.typing import RandomSource

if TYPE_CHECKING:
    from alldags.results.effect import Effect

Style: TypeAlias = Literal["plain", "methods"]


def said_of_prior(effect: Effect) -> str:
    """Return the prior of an effect in words."""
    model = effect.posterior.workings.models.items[0]
    return prior_words(model.prior, [name for name in effect.workings.reached if model.uncounted(name)])


@dataclass(frozen=True, eq=False)
class EffectExports:
    """The answer in other formats; obtained as `Effect.to`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    >>> round(effect.to.dict()["mean"], 2)
    0.89
    """

    effect: Effect

    def sentence(self, style: Style = "plain") -> str:
        """Return the answer in one plain sentence or two, or as the methods section of a paper would put it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> effect.to.sentence("methods").startswith("The total causal effect of smoking on risk was estimated as its")
        True
        """
        checks.one_of("style", style, get_args(Style))
        summary = self.effect.summary()
        if style == "plain":
            return sentence(summary)
        return methods_paragraph(summary, said_of_prior(self.effect), version("alldags"))

    def dict(self) -> dict[str, Any]:
        """Return the answer as plain numbers, as printed by ``alldags effect --json``."""
        return effect_dict(self.effect.summary())

    def latex(self) -> str:
        """Return the small table of the answer in LaTeX, for the package booktabs."""
        return effect_latex(self.effect.summary())

    def markdown(self) -> str:
        """Return the answer in Markdown."""
        return effect_markdown(self.effect.summary())

    def datatree(self, draws: int = 4000, rng: RandomSource = None) -> Any:
        """Return independent draws of the effect as an xarray ``DataTree`` that ArviZ takes; needs extra ``arviz``.

        The group ``posterior`` has the variable ``effect``, in four equal chains: there is none to be told from
        another. Exact zeros are graphs without a path.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> tree = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").to.datatree()
        >>> dict(tree["posterior"].sizes), tree.attrs["treatment"]
        ({'chain': 4, 'draw': 1000}, 'smoking')
        """
        from alldags.results.datatree import effect_datatree

        return effect_datatree(self.effect, draws, rng)
