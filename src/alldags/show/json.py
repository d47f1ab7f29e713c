"""An effect as plain numbers under documented keys, as printed by ``alldags effect --json``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from alldags.notes import Note
from alldags.show.correlated_words import correlated_dict
from alldags.show.sensitivity import SensitivitySummary
from alldags.show.summary import EffectSummary

SCHEMA = "alldags.effect/2"  # keys may be added; the meaning of a key never changes


def effect_dict(summary: EffectSummary) -> dict[str, Any]:
    """Return the answer as a dictionary of plain numbers and names, which JSON can hold."""
    return {
        "schema": SCHEMA,
        "treatment": summary.treatment,
        "outcome": summary.outcome,
        "mean": summary.mean,
        "mean_error": summary.mean_error,
        "mean_bound": summary.mean_bound,
        "sd": _finite(summary.sd),
        "interval": {"level": summary.level, "low": summary.low, "high": summary.high},
        "probability_positive": summary.probability_positive,
        "probability_negative": summary.probability_negative,
        "probability_no_effect": summary.probability_no_effect if summary.asks_whether else None,
        "sd_structure": summary.sd_structure,
        "sd_coefficients": _finite(summary.sd_coefficients),
        "n": summary.rows,
        "log10_graphs": summary.log10_graphs,
        "engine": summary.engine,
        "notes": notes_list(summary.notes),
        "adjusted": [{**asdict(item), "probability": _finite(item.probability)} for item in summary.adjusted],
        "least_squares": summary.least_squares and asdict(summary.least_squares),
        "mean_without_link": summary.mean_without_link,
        "converged": summary.converged,
        "given_effect": summary.given_effect and asdict(summary.given_effect),
        "prior_no_effect": summary.prior_no_effect,
        "least_squares_alone": summary.least_squares_alone and asdict(summary.least_squares_alone),
        "explained": {item.name: item.r2 for item in summary.explained},
        "computed": summary.computed,
        "sd_hidden": summary.sd_hidden,
        "hidden_cause": summary.hidden and hidden_dict(summary.hidden),
        "probability_reverse": summary.probability_reverse,
        "probability_neither": summary.probability_neither,
        "open_pairs": [{**asdict(pair), "none": pair.none} for pair in summary.open_pairs],
        "sd_direction": summary.sd_direction,
        **_words(summary),
        **({"correlated_errors": [correlated_dict(one) for one in summary.correlated]} if summary.correlated else {}),
        **({"heavy_tails": [asdict(item) for item in summary.heavy_tails]} if summary.heavy_tails else {}),
        **({"either_side": list(summary.either_side)} if summary.open_pairs else {}),
        **({} if summary.rows_outcome is None else {"n_outcome": summary.rows_outcome}),
        **_rows(summary),
        **_risk_keys(summary),
    }


def _risk_keys(summary: EffectSummary) -> dict[str, Any]:
    """Return the keys of an effect that is a difference of risks, or on another scale than the outcome's."""
    if not summary.measure:
        return {}
    return {
        "measure": summary.measure,
        "contrast": summary.contrast and list(summary.contrast),
        "over": summary.over,
        "levels": summary.levels and list(summary.levels),
        "risk_ratio": summary.risk_ratio and asdict(summary.risk_ratio),
        "odds_ratio": summary.odds_ratio and asdict(summary.odds_ratio),
        "families": [asdict(item) for item in summary.not_normal],
        "mean_straight_line": summary.mean_straight_line,
    }


def _words(summary: EffectSummary) -> dict[str, Any]:
    """Return what 0 and 1 stand for, where a column has two words."""
    found = {"treatment_words": summary.treatment_words, "outcome_words": summary.outcome_words}
    return {name: list(words) for name, words in found.items() if words is not None}


def _rows(summary: EffectSummary) -> dict[str, Any]:
    """Return what is there only if values were imputed, rows belong together, or noise is uneven."""
    found = {"missing": summary.missing, "clusters": summary.clusters, "noise": summary.noise}
    return {name: {key: _finite(value) for key, value in asdict(item).items()} for name, item in found.items() if item}


def notes_list(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return notes as dictionaries of their text, their severity and the variables that they are about."""
    return [{"text": note.text, "severity": note.severity, "about": list(note.about)} for note in notes]


def hidden_dict(summary: SensitivitySummary) -> dict[str, Any]:
    """Return how strong a hidden cause would have to be as a dictionary of plain numbers and names."""
    found = asdict(summary)
    return {"hits": list(found.pop("hits")), **{k: v for k, v in found.items() if k not in ("treatment", "outcome")}}


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
