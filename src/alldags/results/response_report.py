"""A report on what a change does step by step: that of the same step, with a section and a picture of all."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from alldags.errors import AlldagsError
from alldags.files import write_text
from alldags.results.report import effect_report
from alldags.show.numbers import number, percent
from alldags.show.report.page import report_html
from alldags.show.report.record import Section
from alldags.show.report.steps import response_svg
from alldags.show.response import ResponseSummary, long_run_sentence, never_sentence, response_sentence

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.response import Response


def write_response(response: Response, now: Effect, target: str | os.PathLike[str], command: str = "") -> None:
    """Write the report to a file."""
    ending = os.path.splitext(os.fspath(target))[1]
    if ending.lower() not in ("", ".html", ".htm"):
        raise AlldagsError(f"a report is a file of HTML; call it report.html, not *{ending}")
    report = effect_report(now, command=command)
    section = steps_section(response.summary())
    write_text(target, report_html(replace(report, checks=(section, *report.checks))))


def steps_section(found: ResponseSummary) -> Section:
    """Return what a change does step by step as a part of a report."""
    rows = tuple(
        (f"{one.step}", number(one.mean), f"{number(one.low)} to {number(one.high)}", percent(one.none_by))
        for one in found.steps
    )
    said = response_sentence(found), never_sentence(found), long_run_sentence(found)
    columns = (f"{found.word}s later", "effect", f"{found.level:.0%} interval", "nothing by then")
    return Section("Step by step", said, columns, rows, response_svg(found))
