"""An effect for papers: its table in LaTeX and Markdown, the methods paragraph, and what to cite."""

from __future__ import annotations

from alldags.kinds import KINDS, MEASURES
from alldags.show.latex import pairs_latex
from alldags.show.markdown import escape_markdown, table_markdown
from alldags.show.measures import bends_anywhere
from alldags.show.numbers import amount, graph_count, no_effect
from alldags.show.remarks import remarks
from alldags.show.summary import EffectSummary
from alldags.show.words import interval_name, notes, row_count, rows, scope, sentence

PAPER = r"""@inproceedings{horii2021bayesian,
  title = {Bayesian Model Averaging for Causality Estimation and its Approximation based on
           Gaussian Scale Mixture Distributions},
  author = {Horii, Shunsuke},
  booktitle = {Proceedings of the 24th International Conference on Artificial Intelligence and Statistics},
  series = {Proceedings of Machine Learning Research},
  volume = {130},
  year = {2021}
}"""


def effect_latex(summary: EffectSummary) -> str:
    """Return the small table of an effect; the package booktabs draws its lines."""
    return pairs_latex(f"Total effect of {summary.treatment} on {summary.outcome}", rows(summary))


def effect_markdown(summary: EffectSummary) -> str:
    """Return sentence, table, remarks and notes of an effect."""
    parts = [escape_markdown(sentence(summary)), table_markdown(["", ""], rows(summary), [False, False])]
    return "\n\n".join([*parts, *(escape_markdown(text) for text in (*remarks(summary), *notes(summary)))])


def software(version: str) -> str:
    """Return the BibTeX entry of the package."""
    return (
        "@software{alldags,\n  title = {alldags: causal effects averaged over every {DAG} you cannot rule out},\n"
        f"  author = {{{{The alldags developers}}}},\n  version = {{{version}}}\n}}"
    )


def methods_paragraph(summary: EffectSummary, prior: str, version: str) -> str:
    """Return what was done and what came out, as a paper would say it.

    Parameters
    ----------
    summary
        Of the effect.
    prior
        The prior in words (`alldags.priors.words`).
    version
        Of the package.
    """
    return " ".join(text for text in (_what(summary, version), _how(summary, prior), _found(summary)) if text)


def _what(summary: EffectSummary, version: str) -> str:
    averaged = (
        f"as its posterior, averaged over {graph_count(summary.log10_graphs)} candidate directed acyclic graphs "
        if summary.scope is None
        else f"{scope(summary)}, "
    )
    return (
        f"The total causal effect of {summary.treatment} on {summary.outcome} was estimated {averaged}"
        f"in a {_model(summary)} (Horii, 2021), with alldags {version} and {row_count(summary)} rows."
    )


def _model(summary: EffectSummary) -> str:
    """Name the kind of model, with the regressions that are not linear."""
    others = [f"a {KINDS[item.family].regression} regression of {item.name}" for item in summary.not_normal]
    noise = [f"Student-t noise of {item.name} ({item.degrees})" for item in summary.heavy_tails]
    bends = " whose regressions may bend and differ between rows" if bends_anywhere(summary) else ""
    if not others and bends:
        return f"structural causal model{bends}"
    if not others:
        return f"linear structural causal model{' with ' * bool(noise)}{' and '.join(noise)}"
    marginal = f", marginal over rows as a difference of {_means(summary.measure)}" if summary.levels else ""
    return f"structural causal model with {' and '.join([*others, *noise])}{bends and f',{bends}'}{marginal}"


def _means(measure: str) -> str:
    return MEASURES[measure].means if measure in MEASURES else "means"


def _how(summary: EffectSummary, prior: str) -> str:
    computed = f" Posterior computations: {summary.computed}." if summary.computed else ""
    missing = ""
    if summary.missing is not None:
        times = summary.missing.imputations
        missing = f" Missing values were imputed {times} times."
    return f"{prior}{_without_noise(summary)}{missing}{computed} {_assumed(summary)}"


def _without_noise(summary: EffectSummary) -> str:
    """Say what a prior relative to the noise means where a regression has none."""
    odd = [f"{item.name} ({KINDS[item.family].scale})" for item in summary.not_normal]
    if not odd:
        return ""
    many = len(odd) > 1
    return (
        f" The regression{'s' if many else ''} of {' and '.join(odd)} {'have' if many else 'has'} no noise variance; "
        "there, variances of coefficients were relative to 1."
    )


def _assumed(summary: EffectSummary) -> str:
    if not summary.open_pairs:
        return "Directions of all candidate edges, and the absence of unmeasured common causes, were assumed."
    count = len(summary.open_pairs)
    return (
        f"The direction of {count} pair{'s' if count > 1 else ''} of variables was left open, with the "
        "score-equivalent prior and a fixed slab among them; other directions, and the absence of unmeasured common "
        "causes, were assumed."
    )


def _found(summary: EffectSummary) -> str:
    if not summary.has_path:
        return sentence(summary)
    ends = f"{amount(summary, summary.low)} to {amount(summary, summary.high)}"
    text = (
        f"The posterior mean was {amount(summary, summary.mean)} (posterior standard deviation "
        f"{amount(summary, summary.sd)}, {interval_name(summary)} {ends})"
    )
    if summary.probability_no_effect is None or not summary.asks_whether:
        return f"{text}."
    return f"{text}; the posterior probability of no effect was {no_effect(summary, summary.probability_no_effect)}."
