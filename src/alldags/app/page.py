"""The page itself: one file of HTML with its own script and style, and the policy that allows nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from alldags.app.study import Study
from alldags.show.report.page import content_hash, environment, resource, script_data


@dataclass(frozen=True, slots=True)
class Page:
    """A page and its content security policy."""

    html: str
    policy: str


def page(study: Study) -> Page:
    """Return the page for a study; needs the extra ``report``."""
    from markupsafe import Markup

    style = resource("report.css") + _own("app.css")
    script = resource("copy.js") + _own("app.js")
    policy = (
        f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    data = {
        "question": dict(study.question),
        "columns": [one.name for one in study.columns if not one.trouble],
        "levels": {one.name: list(one.words) for one in study.columns if one.words},
    }
    html = (
        environment()
        .from_string(_own("app.html"))
        .render(
            study=study,
            style=Markup(style),
            script=Markup(script),
            data=Markup(script_data(data)),
        )
    )
    return Page(str(html), policy)


def _own(name: str) -> str:
    return files("alldags.app").joinpath("templates", name).read_text(encoding="utf-8")
