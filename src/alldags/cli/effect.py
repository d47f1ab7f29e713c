"""``alldags effect``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alldags.cli.options import DEFAULTS, NO_TIME, NOTHING_SAID, Data, FitOptions, Json, Steps, Study
from alldags.cli.printing import as_dict, as_text, filled, print_json, save_picture
from alldags.cli.study import fitted, graph_of_study, number_of
from alldags.errors import AlldagsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior
    from alldags.results.response import Response
    from alldags.show.summary import EffectSummary


def effect(
    data: Data,
    *,
    treatment: str,
    outcome: str,
    study: Study = NOTHING_SAID,
    steps: Steps = NO_TIME,
    contrast: str | None = None,
    level: float = 0.95,
    details: Annotated[bool, Parameter(negative="")] = False,
    paths: Annotated[bool, Parameter(negative="")] = False,
    influence: Annotated[bool, Parameter(negative="")] = False,
    sensitivity: Annotated[bool, Parameter(negative="")] = False,
    checks: Annotated[bool, Parameter(negative="")] = False,
    options: FitOptions = DEFAULTS,
    plot: Path | None = None,
    report: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print the total effect of a treatment on an outcome, averaged over all candidate graphs.

    What may act on what is in a file, --graph, or follows from --confounders, --mediators and --instruments.

    Parameters
    ----------
    treatment
        Name of the cause.
    outcome
        Name of the effect.
    contrast
        Two values or levels of the treatment, from and to, such as none:high. A category without it: each level
        compared with the first, or with --json every pair.
    level
        Probability that the interval holds.
    details
        Say everything: all numbers and all notes.
    paths
        Show, too, the paths along which it acts.
    influence
        Show, too, what knowing each uncertain edge would do to the answer.
    sensitivity
        Say, too, what a hidden common cause would do: how strong it would have to be, the effect if it were as strong
        as a measured covariate, and the effect over a grid of strengths.
    checks
        Say, too, what the data show of the assumptions: residuals, outlying rows, independences, overlap.
    plot
        Write a picture of the effect, too: .png, .svg or .pdf
    report
        Write a report, too: one .html file that needs nothing else.
    """
    posterior = fitted(data, options, graph_of_study(options, treatment, outcome, study, steps), steps)
    if steps.after is not None:
        _print_response(posterior.effect(treatment, outcome, after=steps.after, lasting=steps.lasting), level,
                        {"contrast": contrast, "details": details, "paths": paths, "influence": influence,
                         "sensitivity": sensitivity, "checks": checks}, plot, report, as_json)  # fmt: skip
        return
    answer = posterior.effect(treatment, outcome)
    pair = None if contrast is None else _pair(contrast, answer)
    answer = answer if pair is None else answer.contrast(*pair)
    makers: dict[str, Callable[[], Any]] = {
        "paths": answer.paths,
        "influence": answer.edge_influence,
        "sensitivity": answer.sensitivity,
        "checks": lambda: posterior.checks(treatment, outcome),
    }
    chosen = {"paths": paths, "influence": influence, "sensitivity": sensitivity, "checks": checks}
    found, refused = _made({name: make for name, make in makers.items() if chosen[name]})
    if as_json:
        more = {name: as_dict(part) for name, part in found.items()}
        print_json(_as_json(answer, level, pair) | more | ({"not_made": refused} if refused else {}))
    else:
        parts = [_in_words(answer, level, pair, details), *map(as_text, found.values())]
        print("\n\n".join([*parts, *(filled(f"--{name}: not made: {text}") for name, text in refused.items())]))
    if report is not None:
        _write_report(posterior, report, treatment, outcome, pair, level)
    if plot is not None:
        save_picture(answer.plot(), plot)


def _print_response(
    answer: Response, level: float, others: dict[str, Any], plot: Path | None, report: Path | None, as_json: bool
) -> None:
    """Print what a change does step by step; what is said of the same step alone is refused."""
    said = [name for name, value in others.items() if value]
    if said:
        raise AlldagsError(f"--{said[0]} is of the effect in the same step: leave out --after, or --{said[0]}")
    if as_json:
        print_json(answer.to_dict(level))
    else:
        print(answer.text(command=True))
        for note in answer.notes:
            print(filled(f"note: {note.on_command_line}"), file=sys.stderr)
    if report is not None:
        answer.report(report, command=shlex.join(["alldags", *sys.argv[1:]]))
        print(f"report written to {report}", file=sys.stderr)
    if plot is not None:
        save_picture(answer.plot(), plot)


def _in_words(answer: Effect, level: float, pair: Any, details: bool) -> str:
    """Return the answer in words, on one screen or with all details."""
    from alldags.show.screen import screen_text
    from alldags.show.words import effect_text

    if _is_open(answer, pair):
        levels = answer.contrasts(level)
        return levels.details(command=True) if details else levels.text(command=True)
    summary = answer.summary(level)
    return effect_text(_on_command_line(summary)) if details else screen_text(summary, command=True)


def _as_json(answer: Effect, level: float, pair: Any) -> dict[str, Any]:
    """Return the answer as plain numbers."""
    from alldags.show.json import effect_dict

    return (
        answer.contrasts(level).to_dict()
        if _is_open(answer, pair)
        else effect_dict(_on_command_line(answer.summary(level)))
    )


def _is_open(answer: Effect, pair: Any) -> bool:
    """Tell whether the treatment is a category of which no two levels were named."""
    return pair is None and answer.treatment in answer.posterior.workings.data.categories


def _on_command_line(summary: EffectSummary) -> EffectSummary:
    return replace(summary, notes=tuple(note.on_command_line for note in summary.notes))


def _write_report(posterior: Posterior, path: Path, treatment: str, outcome: str, pair: Any, level: float) -> None:
    command = shlex.join(["alldags", *sys.argv[1:]])
    posterior.report(path, treatment, outcome, contrast=pair, level=level, command=command)
    print(f"report written to {path}", file=sys.stderr)


def _pair(text: str, answer: Effect) -> tuple[float | str, float | str]:
    """Read two values of the treatment, joined by a colon, which a level may hold itself."""
    data = answer.posterior.workings.data
    words = data.levels[answer.treatment].words if answer.treatment in data.levels else ()
    cuts = [(text[:i], text[i + 1 :]) for i, letter in enumerate(text) if letter == ":"]
    known = [cut for cut in cuts if set(cut) <= set(words)] or cuts[:1]
    if not known:
        raise AlldagsError(f"--contrast takes two values joined by a colon, such as none:high or 0:10, got {text!r}")
    start, stop = (value if value in words else number_of(value) for value in known[0])
    return start, stop


def _made(makers: dict[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Make the parts that were asked for beside the answer; say of those that this answer has not why not."""
    found: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except AlldagsError as error:
            refused[name] = error.on_command_line
    return found, refused
