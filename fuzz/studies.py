"""Random studies: columns of every kind, a random graph, and options of every kind together; answered or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import alldags as ad
from alldags.typing import FloatArray
from fuzz.judge import Finding

Description = dict[str, Any]
ROWS = (3, 5, 8, 20, 60, 60, 150, 150, 400)
KINDS = (
    "normal", "normal", "normal", "yes/no", "count", "amount", "zeros", "grade", "words", "large", "small", "copy",
    "skewed",
)  # fmt: skip
FAMILIES = {
    "yes/no": ("auto", "normal"), "count": ("poisson", "auto", "ordered"), "amount": ("lognormal", "gamma", "auto"),
    "grade": ("ordered", "auto"), "zeros": ("hurdle", "auto"), "words": ("categorical", "auto"),
    "normal": ("auto", "student"), "skewed": ("auto", "student"),
}  # fmt: skip
ENGINES = ("auto",) * 8 + ("exact", "mcmc", "certified", "full", "k2")
PRIORS: dict[str, Callable[[], ad.Prior]] = {
    "default": ad.Prior,
    "paper": ad.Prior.paper,
    "without link": lambda: ad.Prior(link=0.0),
    "known noise": lambda: ad.Prior(noise=ad.priors.KnownNoise(1.0)),
    "shared": lambda: ad.Prior(slab=ad.priors.LearnedSlab(points=3, shared=True)),
    "g": lambda: ad.Prior(slab=ad.priors.GPrior()),
    "hyper-g": lambda: ad.Prior(slab=ad.priors.HyperG()),
    "number": lambda: ad.Prior(edges=ad.priors.BetaBinomial()),
}
OPTIONS: dict[str, Any] = {
    "missing": ("drop", "impute"), "weights": ("two", "some", "chance"), "cluster": ("site",), "robust": (False,),
    "fixed_effects": (["site"], ["site", "wave"]), "interventions": ("was_set",), "randomized": ("v1",),
    "reliability": ({"v1": 0.8},), "gaps": (0.02, 0.2), "hidden": (0.3, 1.0), "within": (0.5,), "graphs": (2,),
    "written": ("v0*v1", "curve(v0)"), "time": (0,),
}  # fmt: skip
QUESTIONS = ("mean", "contrast", "print", "paths", "checks", "sensitivity", "by", "do", "influence", "next")


def described(rng: Random) -> Description:
    """Return a study as plain numbers and words, from which it is made anew each time."""
    variables = rng.randint(2, 6)
    kinds = [rng.choice(KINDS) for _ in range(variables)]
    tiers = sorted(rng.randrange(3) for _ in range(variables))
    options = {name: rng.choice(OPTIONS[name]) for name in OPTIONS if rng.random() < 0.12}
    if "gaps" in options:
        options.setdefault("missing", rng.choice(["drop", "impute", "raise"]))
    families = {f"v{i}": rng.choice(FAMILIES[kind]) for i, kind in enumerate(kinds) if kind in FAMILIES}
    return {
        "seed": rng.randrange(10**6), "rows": rng.choice(ROWS), "kinds": kinds, "tiers": tiers, "options": options,
        "probability": rng.choice([0.02, 0.5, 0.5, 0.9, 1.0]), "engine": rng.choice(ENGINES),
        "prior": rng.choice(["default"] * 6 + list(PRIORS)), "terms": rng.choice([None, None, None, "auto"]),
        "families": {name: family for name, family in families.items() if family != "auto" and rng.random() < 0.7},
        "question": rng.choice(QUESTIONS), "asked": sorted(rng.sample(range(variables), 2)),
    }  # fmt: skip


def table_of(study: Description) -> dict[str, Any]:
    """Return its columns."""
    rng, rows = np.random.default_rng(study["seed"]), study["rows"]
    found: dict[str, Any] = {}
    for place, kind in enumerate(study["kinds"]):
        before = [np.asarray(column, dtype=float) for column in found.values() if column.dtype.kind == "f"]
        slopes = rng.normal(0.0, 0.8, len(before)) * (rng.random(len(before)) < 0.6)
        line = sum((b * (x - x.mean()) / (x.std() or 1.0) for b, x in zip(slopes, before, strict=True)), np.zeros(rows))
        found[f"v{place}"] = column_of(kind, line, before, rng)
    gaps = study["options"].get("gaps")
    if gaps:
        found = {name: with_gaps(column, gaps, rng) for name, column in found.items()}
    marks = {
        "two": np.full(rows, 2), "some": rng.integers(0, 4, rows), "chance": rng.uniform(1.0, 5.0, rows),
        "site": np.arange(rows) // 4, "wave": np.arange(rows) % 4,
        "was_set": np.where(rng.random(rows) < 0.2, "v1", ""),
    }  # fmt: skip
    return found | marks


def column_of(kind: str, line: FloatArray, before: list[FloatArray], rng: np.random.Generator) -> Any:
    """Return a column of one kind, with a predictor."""
    rows = len(line)
    noise = rng.standard_normal(rows)
    match kind:
        case "yes/no":
            return (rng.logistic(size=rows) < line).astype(float)
        case "count":
            return rng.poisson(np.exp(np.clip(0.3 * line, -5, 5))).astype(float)
        case "amount":
            return np.exp(np.clip(line + noise, -20, 20))
        case "zeros":
            return np.where(rng.logistic(size=rows) < line, np.exp(np.clip(line + noise, -20, 20)), 0.0)
        case "grade":
            return np.clip(np.round(line + noise), -1, 2) + 2.0
        case "words":
            return np.array(["a", "b c", "d'e", "ü"])[rng.integers(0, rng.integers(2, 5), rows)]
        case "large":
            return 1e8 + 1e6 * (line + noise)
        case "small":
            return 1e-9 * (line + noise)
        case "copy":
            return before[0].copy() if before else noise
        case "skewed":
            return line + rng.standard_t(1.5, rows)
    return line + noise


def with_gaps(column: Any, share: float, rng: np.random.Generator) -> Any:
    """Return a column without some of its values."""
    gone = rng.random(len(column)) < share * rng.integers(0, 2)
    return np.where(gone, np.nan if column.dtype.kind == "f" else None, column)


def graph_of(study: Description) -> Any:
    """Return its graph, or graphs."""
    tiers: dict[int, list[str]] = {}
    for place, tier in enumerate(study["tiers"]):
        tiers.setdefault(tier, []).append(f"v{place}")
    options, p = study["options"], study["probability"]
    if "within" in options:
        graph = ad.CandidateGraph.from_tiers(list(tiers.values()), p, within=0.3)
    else:
        graph = ad.CandidateGraph.from_order([f"v{i}" for i in range(len(study["kinds"]))], p)
    low, high = (f"v{i}" for i in study["asked"])
    graph = graph.with_hidden(low, high, options["hidden"]) if "hidden" in options else graph
    return [graph, graph.without_edge(low, high)] if "graphs" in options else graph


def fitted(study: Description) -> ad.Posterior:
    """Fit it."""
    said = {"missing", "weights", "cluster", "robust", "fixed_effects", "interventions", "randomized", "reliability"}
    told = {name: value for name, value in study["options"].items() if name in said}
    if told.get("weights") == "chance":
        told["weight_kind"] = "sampling"
    if told.get("missing") == "impute":
        told["imputations"] = 2
    if "time" in study["options"]:
        told |= {"time": "wave", "unit": "site", "lags": study["options"]["time"]}
    terms = (
        {f"v{study['asked'][1]}": [study["options"]["written"]]} if "written" in study["options"] else study["terms"]
    )
    return ad.fit(
        table_of(study), graph_of(study), prior=PRIORS[study["prior"]](), engine=study["engine"], terms=terms,
        families=study["families"] or "auto", rng=0, progress=False, **told,
    )  # fmt: skip


def asked(study: Description) -> None:
    """Ask a question; what is answered must hang together."""
    posterior = fitted(study)
    low, high = (f"v{i}" for i in study["asked"])
    effect = posterior.effect(low, high)
    if low in posterior.workings.data.categories:
        str(effect)
        effect = effect.contrast(*posterior.workings.data.levels[low].words[:2])
    consistent(effect)
    match study["question"]:
        case "contrast":
            consistent(effect.contrast(0.0, 1.0))
        case "print":
            lines = str(effect).splitlines()
            if len(lines) > 14 or max(map(len, lines)) > 80:
                raise Finding("an answer that is longer than a screen", str(effect))
        case "paths":
            effect.paths()
        case "checks":
            str(posterior.checks(low, high))
        case "sensitivity":
            str(effect.sensitivity())
        case "by":
            effect.by(f"v{study['asked'][0]}")
        case "do":
            consistent(effect.do(1.0).mean)
        case "influence":
            effect.edge_influence()
        case "next":
            str(effect.next_steps(rows=[20], experiments=[], edges=None, futures=2))


def consistent(found: Any) -> None:
    """Raise a finding where numbers contradict each other."""
    mean, sd = float(found.mean), float(found.sd)
    low, high = found.interval()
    if any(np.isnan(x) for x in (mean, sd, low, high)):
        raise Finding("not a number", f"{mean} {sd} {low} {high}")
    if sd < 0 or low > high:
        raise Finding("a negative spread", f"{mean} {sd} {low} {high}")
    none = getattr(found, "probability_no_effect", None)
    if none is not None and not 0.0 <= none <= 1.0:
        raise Finding("a probability outside 0 and 1", str(none))
    if np.isfinite(sd) and not low - 4 * sd - 1e-9 * (1 + abs(mean)) <= mean <= high + 4 * sd + 1e-9 * (1 + abs(mean)):
        raise Finding("a mean far from its interval", f"{mean} {sd} {low} {high}")


def written(rng: Random) -> bytes:
    """Return a random study as a file."""
    return json.dumps(described(rng)).encode()
