"""What goes into papers: contrasts, the direct effect, LaTeX, Markdown, the methods paragraph, maketables."""

from __future__ import annotations

import re

import numpy as np
import pytest

import alldags as ad
from alldags.errors import AlldagsError
from alldags.priors.words import prior_words
from alldags.show.latex import escape_latex
from alldags.show.markdown import escape_markdown
from lines import fit
from naive import effects as naive
from show.everything import everything


@pytest.fixture(scope="module")
def effect() -> ad.Effect:
    study = ad.datasets.example()
    return fit(study.table, study.graph, rng=0).effect("smoking", "risk")


# -- contrasts and the direct effect -----------------------------------------------------------------------------------


def test_a_contrast_is_a_multiple_of_the_effect(effect: ad.Effect) -> None:
    found = effect.contrast(20, 10)
    low, high = effect.interval(0.8)
    assert found.mean == pytest.approx(-10 * effect.mean)
    assert found.sd == pytest.approx(10 * effect.sd)
    assert found.uncertainty.structure == pytest.approx(10 * effect.uncertainty.structure)
    assert found.interval(0.8) == pytest.approx((-10 * high, -10 * low), rel=1e-3)
    assert effect.contrast(3, 3).mean == 0.0
    assert "from 20 to 10" in found.to.sentence()
    with pytest.raises(ad.AlldagsError, match="a value of the treatment must be a finite number, got nan"):
        effect.contrast(0, float("nan"))


def test_standardized_effects_do_not_depend_on_units() -> None:
    study = ad.datasets.example()
    scaled = dict(study.table) | {"smoking": 20.0 * np.asarray(study.table["smoking"])}
    first, second = (fit(table, study.graph, rng=0).effect("smoking", "risk") for table in (study.table, scaled))
    assert second.on("standardized").mean == pytest.approx(first.on("standardized").mean)
    ratio = np.std(study.table["smoking"], ddof=1) / np.std(study.table["risk"], ddof=1)
    assert first.on("standardized").mean == pytest.approx(first.mean * ratio)


def test_the_direct_effect_is_the_coefficient_over_all_graphs() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 3))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 2] += 0.5 * x[:, 1] + 0.3 * x[:, 0]
    probability = np.triu(np.full((3, 3), 0.5), 1)
    prior = ad.Prior(1.0, ad.priors.KnownNoise(1.0), units="raw", link=0.0)
    graph = ad.CandidateGraph.from_order(["a", "b", "c"], 0.5)
    found = fit(dict(zip("abc", x.T, strict=True)), graph, prior=prior, rng=0).effect("a", "c").direct
    sets = naive.node_sets(naive.contrasts(x), 2, [0, 1], probability, 1.0, ("known", 1.0))
    logs = np.array([item.log_weight for item in sets])
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    means = np.array([item.mean[0] for item in sets])
    squares = means**2 + np.array([item.covariance[0, 0] for item in sets])
    assert found.probability == pytest.approx(
        sum(w for w, item in zip(weights, sets, strict=True) if 0 in item.parents)
    )
    assert found.mean == pytest.approx(float(weights @ means))
    assert found.sd == pytest.approx(float(np.sqrt(weights @ squares - (weights @ means) ** 2)))
    total = fit(dict(zip("abc", x.T, strict=True)), graph, prior=prior, rng=0).effect("a", "c")
    assert found.share_mediated == pytest.approx(1 - found.mean / total.mean)
    rest = [row for row in total.paths().rows() if row["path"] != "a -> c"]
    assert found.mean + sum(row["mean"] for row in rest) == pytest.approx(total.mean)
    assert found.low < found.mean < found.high


def test_the_direct_effect_of_an_edge_that_is_not_there_is_zero() -> None:
    study = ad.datasets.example()
    graph = study.graph.without_edge("smoking", "risk")
    found = fit(study.table, graph, rng=0).effect("smoking", "risk").direct
    assert (found.mean, found.sd, found.low, found.high, found.probability) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert found.share_mediated == 1.0


# -- texts -------------------------------------------------------------------------------------------------------------


def test_latex_has_all_rows_and_no_raw_specials(effect: ad.Effect) -> None:
    text = effect.to.latex()
    assert text.startswith(r"\begin{tabular}{ll}")
    assert text.endswith(r"\end{tabular}")
    assert r"95\% interval & 0.68 to 1.09" in text
    assert r"\quad before the data & 19.7\% \\" in text
    assert not re.search(r"(?<!\\)[%_#$&]", text.replace(" & ", " ").replace(r"$\pm$", ""))
    assert escape_latex(r"a\b{c}~^") == r"a\textbackslash{}b\{c\}\textasciitilde{}\textasciicircum{}"


def test_markdown_is_a_table_that_names_cannot_break(effect: ad.Effect) -> None:
    text = effect.to.markdown()
    assert "| posterior mean | 0.89 |" in text
    assert escape_markdown("a|b_c*<d> & $e$") == r"a\|b\_c\*&lt;d> &amp; \$e\$"
    table = effect.paths()
    lines = table.to_markdown().splitlines()
    assert lines[:2] == ["| path | mean | sd | probability |", "| --- | ---: | ---: | ---: |"]
    assert len(lines) == len(table) + 2
    assert table.to_latex().count(r"\\") == len(table) + 1


def test_the_methods_paragraph_says_prior_version_and_result(effect: ad.Effect) -> None:
    text = effect.to.sentence("methods")
    assert re.search(r"with alldags \d+\.\d+\S* and 500 rows\.", text)
    assert "averaged over 65,536 candidate directed acyclic graphs" in text
    assert "The posterior mean was 0.89 (posterior standard deviation 0.10, 95% interval 0.68 to 1.09)" in text
    assert effect.to.sentence() == everything(effect).split("\n\n")[0].replace("\n", " ")
    with pytest.raises(ad.AlldagsError, match=r"style must be one of .*'methods'.*, got 'long'"):
        effect.to.sentence("long")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (ad.Prior(), "averaged over a grid from 0.14 to 160,000"),
        (ad.Prior.paper(2.0, 3.0), "with variance 2, in the units of the data. The noise precision was taken to be 3."),
        (ad.Prior(noise=ad.priors.EquivalentNoise()), "Markov equivalent graphs have equal evidence"),
        (ad.Prior(slab=ad.priors.GPrior("n")), "a g-prior (GPrior(g='n'))"),
        (ad.Prior(edges=ad.priors.BetaBinomial()), "Edges: BetaBinomial("),
        (ad.Prior(coefficients=ad.priors.Horseshoe(0.1)), "the scale-mixture prior Horseshoe("),
    ],
)
def test_priors_in_words(prior: ad.Prior, words: str) -> None:
    assert words in prior_words(prior)


def test_maketables_finds_what_it_asks_for(effect: ad.Effect) -> None:
    frame = effect.__maketables_coef_table__
    assert list(frame.columns) == ["b", "se", "t", "p", "ci95l", "ci95u"]
    assert frame.index.name == "Coefficient"
    assert frame.loc["smoking", "b"] == effect.mean
    assert np.isnan(frame.loc["smoking", "p"])
    assert effect.__maketables_depvar__ == "risk"
    assert effect.__maketables_stat__("N") == 500
    assert effect.__maketables_stat__("r2") == pytest.approx(0.28, abs=0.02)
    assert effect.__maketables_stat__("unknown") is None


def test_the_methods_paragraph_does_not_assume_what_was_left_open() -> None:
    study = ad.datasets.example()
    graph = ad.CandidateGraph.from_tiers([["age"], ["smoking", "tar"], ["risk"]], within=[None, 0.5, None])
    text = fit(study.table, graph, rng=0).effect("smoking", "risk").to.sentence("methods")
    assert "The direction of 1 pair of variables was left open" in text
    assert "Directions of all candidate edges" not in text


def test_the_methods_paragraph_says_what_was_imputed() -> None:
    study = ad.datasets.example()
    table = {name: np.array(column, dtype=float) for name, column in study.table.items()}
    table["tar"][:40] = np.nan
    text = fit(table, study.graph, missing="impute", imputations=5, rng=0).effect("smoking", "risk")
    assert "Missing values were imputed 5 times" in text.to.sentence("methods")


def test_an_effect_that_is_zero_by_assumption_is_not_argued_about() -> None:
    study = ad.datasets.example()
    effect = fit(study.table, study.graph, rng=0).effect("risk", "smoking")
    assert not any("least squares" in note for note in effect.notes)
    assert "Monte Carlo" not in everything(effect)


def test_arviz_takes_the_draws(effect):
    arviz = pytest.importorskip("arviz_stats.base").array_stats
    tree = effect.to.datatree(2000, rng=3)
    assert tree["posterior"]["effect"].values.ravel().tolist() == effect.draws(2000, rng=3).tolist()
    assert arviz.rhat(tree["posterior"]["effect"].values, chain_axis=0, draw_axis=1) < 1.02
    assert (tree.attrs["treatment"], tree.attrs["outcome"]) == (effect.treatment, effect.outcome)
    with pytest.raises(AlldagsError, match="draws must be a multiple of 4, the number of chains, got 10"):
        effect.to.datatree(10)
