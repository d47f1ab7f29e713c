"""The picture of a response as SVG, coloured by the page's own style."""

from __future__ import annotations

from html import escape

from alldags.show.report.svg import element, ticks_between
from alldags.show.response import ResponseSummary

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _FLOOR = 640.0, 250.0, 60.0, 590.0, 12.0, 205.0


def response_svg(found: ResponseSummary) -> str:
    """Return effect and interval by step, and the probability that nothing has arrived by then as a dashed line."""
    ends = [0.0, *(one.low for one in found.steps), *(one.high for one in found.steps)]
    low, high = min(ends), max(ends)
    margin = 0.05 * (high - low) or 1.0
    low, high, last = low - margin, high + margin, max(found.steps[-1].step, 1)

    def x(step: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * step / last

    def y(value: float) -> float:
        return _FLOOR - (_FLOOR - _TOP) * (value - low) / (high - low)

    def chance(value: float) -> float:
        return _FLOOR - (_FLOOR - _TOP) * value

    there = [f"{x(one.step):.1f} {y(one.high):.1f}" for one in found.steps]
    back = [f"{x(one.step):.1f} {y(one.low):.1f}" for one in reversed(found.steps)]
    mean = " ".join(f"{x(one.step):.1f} {y(one.mean):.1f}" for one in found.steps)
    none = " ".join(f"{x(one.step):.1f} {chance(one.none_by):.1f}" for one in found.steps)
    parts = [
        element("path", d=f"M{' '.join(there)}L{' '.join(back)}Z", class_="area"),
        element("line", x1=_LEFT, x2=_RIGHT, y1=y(0.0), y2=y(0.0), class_="zero"),
        element("path", d=f"M{mean}", class_="curve", fill="none"),
        element("path", d=f"M{none}", class_="axis", fill="none", stroke_dasharray="2 4"),
        element("line", x1=_LEFT, x2=_RIGHT, y1=_FLOOR, y2=_FLOOR, class_="axis"),
        *(_across(step, x(step)) for step in _whole(last)),
        *(_up(value, y(value)) for value in ticks_between(low, high, 5)),
        *(element("text", f"{value:.0%}", x=_RIGHT + 6, y=chance(value) + 4) for value in (0.0, 0.5, 1.0)),
        element("text", escape(f"{found.word}s later; dashed: probability of nothing by then"), x=_WIDTH / 2,
                y=_HEIGHT - 6, text_anchor="middle", class_="name"),
    ]  # fmt: skip
    label = f"effect of {found.treatment} on {found.outcome}, step by step"
    return element("svg", "".join(parts), viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", role="img", aria_label=label,
                   class_="effect")  # fmt: skip


def _whole(last: int) -> range:
    return range(0, last + 1, max(1, last // 8))


def _across(step: int, place: float) -> str:
    return element("text", f"{step}", x=place, y=_FLOOR + 17, text_anchor="middle")


def _up(value: float, place: float) -> str:
    return element("text", f"{value:g}", x=_LEFT - 8, y=place + 4, text_anchor="end")
