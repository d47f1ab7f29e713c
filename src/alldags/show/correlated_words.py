"""What is said of errors that a hidden common cause makes go together, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alldags.show.correlated import NONE, CorrelatedSummary
from alldags.text import some

_ALL = 0.995  # a probability that is shown as all
_WEAK = 10.0  # F of all instruments together


def nothing_identifies(one: CorrelatedSummary) -> str:
    """Say that data are silent about a hidden cause."""
    said = f"correlation between {one.low_before:.2f} and {one.high_before:.2f}"
    also = "; so is the probability of no effect" if one.asked else ""
    return (
        "nothing identifies this effect: no graph has an instrument or a front door, so the data say nothing about the "
        f"hidden cause of {one.first} and {one.second}; the interval is what you said of it ({said}) added to least "
        f"squares{also}"
    )


def weak_instruments(one: CorrelatedSummary) -> str:
    """Say that most of an interval is prior."""
    source = f"the data hardly tell how strong the hidden cause of {one.first} and {one.second} is"
    if one.f is not None and one.f < _WEAK:
        names = some([each.name for each in one.instruments])
        source = f"{names} {'is' if len(one.instruments) == 1 else 'are'} weak (F = {one.f:.1f})"
    return (
        f"{source}: they narrow the correlation of the errors by {one.learned:.0%} only; most of the interval is prior"
    )


def single_instrument(one: CorrelatedSummary) -> str:
    """Say that one instrument cannot vouch for itself."""
    only = one.instruments[0]
    return (
        f"with a single instrument data cannot tell whether it is valid: {only.valid_before:.2f} became "
        f"{only.valid:.2f} for {only.name} for reasons of size alone"
    )


def correlated_sentence(one: CorrelatedSummary) -> str:
    """Say what is known of a hidden cause, and by what."""
    allowed = "" if one.probability_before >= 1.0 else f", with probability {one.probability:.0%}"
    between = _correlation(one)
    learned = "the data put" if one.is_identified else "you put"
    return (
        f"A hidden common cause of {one.first} and {one.second} is allowed for{allowed}: {learned} the correlation of "
        f"their errors at {between}. {_identified(one)}{_rests_on(one)}"
    )


def _rests_on(one: CorrelatedSummary) -> str:
    """Say which exclusions identify the effect."""
    names = some(one.rests_on)
    return f" This rests on {names} not acting on {one.second} directly." if names else ""


def set_apart(shown: str, was_set: str) -> str:
    """Say what rows are good for in which one of two variables was set."""
    return (
        f"rows in which {was_set} was set show what acts on {shown} without the hidden cause; they have an intercept "
        "and coefficients of covariates of their own"
    )


def undeclared(names: Sequence[str], second: str) -> str:
    """Say that missing edges, which nobody declared to be instruments', identify an effect."""
    acts = "acts" if len(names) == 1 else "act"
    return (
        f"the effect is identified because the graph rules out that {some(names)} {acts} on {second} directly: if "
        "that is not meant, add the edge"
    )


def correlated_short(one: CorrelatedSummary) -> str:
    """Say the same in a line or two."""
    chance = "" if one.probability_before >= 1.0 else f" ({one.probability:.0%})"
    pair = f"one of {one.first} and {one.second}{chance}"
    if not one.is_identified:
        return f"{pair}, of which the data say nothing"
    said = _identified(one)[:-1]
    return f"{pair}, errors correlated {_correlation(one)}; {said[0].lower()}{said[1:]}"


def _correlation(one: CorrelatedSummary) -> str:
    return f"{one.mean:.2f} ({one.low:.2f} to {one.high:.2f})"


def _identified(one: CorrelatedSummary) -> str:
    if one.identified <= NONE:
        return "The effect is identified in none of the candidate graphs."
    of = "every candidate graph" if one.identified >= _ALL else f"{one.identified:.0%} of the candidate graphs"
    return f"The effect is identified in {of}{_by(one)}."


def _by(one: CorrelatedSummary) -> str:
    """Name what identifies the effect, with how many instruments there are."""
    rows = [f"rows in which {one.first} was set"] if one.tried else []
    if not one.instruments and not rows:
        return "" if not one.is_identified else ", without an instrument"
    return f", by {' and '.join([*rows, *_instruments(one)])}"


def _instruments(one: CorrelatedSummary) -> list[str]:
    if len(one.instruments) < 2:
        return [each.name for each in one.instruments]
    count = sum(each.valid for each in one.instruments)
    about = f"{count:.0f}" if abs(count - round(count)) < 0.05 else f"about {count:.1f}"
    return [f"{about} independent instruments of {len(one.instruments)}"]


def correlated_dict(one: CorrelatedSummary) -> dict[str, Any]:
    """Return the record as a dictionary of plain numbers and names."""
    names = (
        "first", "second", "probability", "probability_before", "mean", "low", "high", "low_before", "high_before",
        "learned", "identified",
    )  # fmt: skip
    found: dict[str, Any] = {name: getattr(one, name) for name in names}
    each = [
        {"name": i.name, "partial_r2": i.share, "f": i.f, "valid": i.valid, "valid_before": i.valid_before}
        for i in one.instruments
    ]
    return {**found, "f": one.f, "instruments": each}
