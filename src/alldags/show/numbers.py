"""Numbers as text: digits by the standard deviation, probabilities in percent, counts of graphs."""

from __future__ import annotations

import math

from alldags.show.summary import EffectSummary

WORTH_SAYING = 0.01  # probability of no effect, from which the effect given that there is one is another number


def amount(summary: EffectSummary, value: float) -> str:
    """Format a number in units of the effect: as many digits as its standard deviation makes worth printing."""
    return to_precision(value, summary.sd)


def to_precision(value: float, sd: float) -> str:
    """Format a number with the decimals that show two digits of its standard deviation, thousands written out.

    Examples
    --------
    >>> from alldags.show.numbers import to_precision
    >>> to_precision(0.89362, 0.1043), to_precision(1176.8, 812.4), to_precision(0.89362, 0.0)
    ('0.89', '1,177', '0.894')
    """
    if value == 0.0:
        return "0"
    if not (math.isfinite(sd) and sd > 0) or abs(value) >= 1e9 or sd < 1e-4:
        return number(value)
    decimals = max(1 - math.floor(math.log10(float(f"{sd:.1e}"))), 0)
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0.0 else text


def number(value: float) -> str:
    """Format a number for a sentence: three digits, and thousands written out.

    Examples
    --------
    >>> from alldags.show.numbers import number
    >>> number(0.85562), number(12345.6)
    ('0.856', '12,346')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"


def rough(value: float) -> str:
    """Format an error: one digit, thousands written out.

    Examples
    --------
    >>> from alldags.show.numbers import rough
    >>> rough(0.00213), rough(1234.0)
    ('0.002', '1,000')
    """
    return f"{float(f'{value:.1g}'):,.0f}" if value >= 10 else f"{value:.1g}"


def percent(value: float) -> str:
    """Format a probability for a sentence.

    Examples
    --------
    >>> from alldags.show.numbers import percent
    >>> percent(0.238), percent(1e-5), percent(0.0)
    ('23.8%', 'below 0.1%', '0.0%')
    """
    if 0 < value < 0.001:
        return "below 0.1%"
    if 0.999 < value < 1:
        return "above 99.9%"
    return f"{100 * value:.1f}%"


def whole_percent(value: float) -> str:
    """Format a probability in whole percent, never 0 or 100 unless it is.

    Examples
    --------
    >>> from alldags.show.numbers import whole_percent
    >>> whole_percent(0.9968), whole_percent(0.051), whole_percent(1.0)
    ('>99%', '5%', '100%')
    """
    if 0.995 <= value < 1:
        return ">99%"
    return "<1%" if 0 < value < 0.005 else f"{100 * value:.0f}%"


def sampled_percent(value: float) -> str:
    """Format a probability that comes from draws: however many agree, it is not known to be 0 or 1.

    Examples
    --------
    >>> from alldags.show.numbers import sampled_percent
    >>> sampled_percent(0.0), sampled_percent(1.0)
    ('below 0.1%', 'above 99.9%')
    """
    return percent(min(max(value, 1e-9), 1 - 1e-9))


def some_effect(summary: EffectSummary) -> str:
    """Format the probability that there is an effect; never 1 unless that was assumed, or the engine has no edges."""
    if summary.probability_no_effect is None:
        return percent(1.0)
    value = 1.0 - summary.probability_no_effect
    return sampled_percent(value) if summary.asks_whether else percent(value)


def no_effect(summary: EffectSummary, probability: float) -> str:
    """Format the probability of no effect, which is computed or sampled; never 0 unless that was assumed."""
    vanished = probability == 0.0 and summary.prior_no_effect != 0.0
    return sampled_percent(probability) if summary.probability_no_effect_error or vanished else percent(probability)


def graph_count(log10: float) -> str:
    """Say how many graphs there are.

    Examples
    --------
    >>> from alldags.show.numbers import graph_count
    >>> graph_count(4.81648), graph_count(6.6227), graph_count(83.1)
    ('65,536', '4.2 million', '10^83')
    """
    if log10 < 6:
        return f"{round(10**log10):,}"
    return f"{10 ** (log10 - 6):.1f} million" if log10 < 8 else f"10^{log10:.0f}"
