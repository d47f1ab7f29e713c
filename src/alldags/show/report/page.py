"""From a `Report` to one file of HTML.

The page may load nothing and run nothing but its own script and style, whose hashes its content security policy names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

from alldags.errors import require
from alldags.show import numbers, words
from alldags.show.paper import methods_paragraph
from alldags.show.remarks import remarks
from alldags.show.report import texts
from alldags.show.report.clip import ClippedGraph, clipped
from alldags.show.report.record import EdgeFacts, PathFacts, Report
from alldags.show.report.svg import bar_svg, effect_svg, graph_svg
from alldags.show.screen import screen

_OPEN_SLIDERS = 8  # the others are folded
_MOST_SLIDERS = 60


def resource(name: str) -> str:
    """Return a file that comes with the package."""
    return files("alldags.show.report").joinpath("templates", name).read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """Return the source of an inline script or style, as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def environment() -> Any:
    """Return the templates, which escape every value; needs the extra ``report``."""
    jinja: Any = require("jinja2", "report")
    made = jinja.Environment(
        loader=jinja.FunctionLoader(resource), autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"percent": numbers.percent, "whole_percent": numbers.whole_percent, "number": numbers.number}
    return made


def report_html(report: Report) -> str:
    """Return the report as one HTML file that loads nothing.

    Parameters
    ----------
    report
        What it says.
    """
    require("jinja2", "report")
    from markupsafe import Markup

    summary, graph = report.summary, clipped(report)
    facts = {edge.pair: edge for edge in report.edges}
    roles = {summary.treatment: "treatment", summary.outcome: "outcome"}
    picture, width = graph_svg(graph, roles, {pair: texts.edge_label(facts[pair], summary) for pair in graph.edges})
    script = resource("copy.js") + resource("report.js")
    style = resource("report.css") + f".graph svg{{max-width:{width:.0f}px;min-width:{min(width, 620):.0f}px}}\n"
    sliders = report.influences[:_MOST_SLIDERS]
    return str(
        environment()
        .get_template("report.html")
        .render(
            report=report,
            summary=summary,
            version=report.version,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)}; "
            "base-uri 'none'; form-action 'none'",
            data=Markup(script_data(slider_data(report, sliders))),
            effect_picture=Markup(effect_svg(summary, report.draws)),
            graph_picture=Markup(picture),
            folded=_folded(report, graph),
            sentence=words.sentence(summary),
            screen=screen(summary),
            rows=words.rows(summary),
            remarks=remarks(summary),
            shape=texts.shape_words(summary),
            spread=texts.spread_words(summary),
            paths=_bars(report.paths, adds_up=report.adds_up),
            mediators=_bars(report.mediators, adds_up=True),
            study_next=texts.study_next(report),
            sliders=[(i, edge) for i, edge in enumerate(sliders)],
            open_sliders=_OPEN_SLIDERS,
            left_out=len(sliders) == _MOST_SLIDERS,
            movable=any(edge.moves for edge in sliders),
            any_kept=any(texts.is_kept(edge) for edge in report.edges),
            states=lambda edge: texts.states(edge, summary),
            methods=methods_paragraph(summary, report.prior, report.version),
            bibtex=texts.bibtex(report.version),
            amount=lambda value: numbers.amount(summary, value),
        )
    )


def slider_data(report: Report, edges: list[EdgeFacts]) -> dict[str, Any]:
    """Return what the script needs to move the effect: for each edge the numbers of `EdgeInfluence.mean_at`."""
    names = ("cause", "effect", "prior", "raised", "present", "absent", "moves")

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {
        "mean": report.plain_mean,
        "decimals": decimals(report.summary.sd),
        "least": report.least_absent,
        "edges": [{**{name: plain(getattr(edge, name)) for name in names}, "posterior": edge.kept} for edge in edges],
    }


def decimals(sd: float) -> int:
    """Return how many decimals show two digits of a standard deviation."""
    if not math.isfinite(sd) or sd <= 0:
        return 3
    return min(max(1 - math.floor(math.log10(float(f"{sd:.1e}"))), 0), 12)


def script_data(value: object) -> str:
    """Return JSON that can stand inside a script element, whatever names it holds."""
    text = json.dumps(value, allow_nan=False)  # in ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _bars(found: tuple[PathFacts, ...], *, adds_up: bool) -> list[tuple[PathFacts, Any]]:
    """Return each path with its bar: one after the other where they add up, else each from zero."""
    from markupsafe import Markup

    starts, end = [], 0.0
    for item in found:
        starts.append(end if adds_up else 0.0)
        end += item.mean
    ends = [start + item.mean for start, item in zip(starts, found, strict=True)]
    low, high = min([0.0, *starts, *ends]), max([0.0, *starts, *ends])
    return [
        (item, Markup(bar_svg(start, stop, low, high))) for item, start, stop in zip(found, starts, ends, strict=True)
    ]


def _folded(report: Report, graph: ClippedGraph) -> dict[str, Any]:
    """Return what was left out of the picture."""
    rest = [edge for edge in report.edges if edge.pair not in graph.edges]
    rest.sort(key=lambda edge: -(edge.posterior or 0.0))
    names = [name for name in report.variables if name not in graph.variables]
    return {"names": names, "edges": rest[:100], "count": len(rest)}
