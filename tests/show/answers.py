"""Answers written down: the record of an effect, and what is shown of it.

Run this file to write them anew after an intended change of words; read the difference before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import alldags as ad
from alldags.notes import Note
from alldags.show.html import effect_html
from alldags.show.json import effect_dict
from alldags.show.screen import screen_text
from alldags.show.sensitivity import SensitivitySummary
from alldags.show.summary import (
    Adjustment,
    EffectSummary,
    Explained,
    GivenEffect,
    HeavyTails,
    LeastSquares,
    NotNormal,
    OpenDirection,
)
from alldags.show.words import effect_text
from lines import fit

FILE = Path(__file__).with_suffix(".json")

STUDY = ad.datasets.example()
WITHOUT = STUDY.graph.without_edge("smoking", "risk")
CERTAIN = ad.CandidateGraph(STUDY.graph.variables, dict.fromkeys(STUDY.graph.edges, 1.0))


def _ask(graph=STUDY.graph, rows=500, prior=None, question=("smoking", "risk"), level=0.95, **options):
    def asked() -> EffectSummary:
        table = {name: column[:rows] for name, column in STUDY.table.items()}
        fixed = ad.Prior.v01() if prior is None else prior
        return fit(table, graph, prior=fixed, rng=0, **options).effect(*question).summary(level)

    return asked


CASES: dict[str, Callable[[], EffectSummary]] = {
    "auto": _ask(),
    "k2": _ask(engine="k2"),
    "vb": _ask(engine="vb"),
    "em": _ask(engine="em"),
    "full": _ask(engine="full"),
    "mcmc": _ask(engine="mcmc"),
    "two graphs": _ask([STUDY.graph, WITHOUT]),
    "two graphs, greedy": _ask([STUDY.graph, WITHOUT], engine="k2"),
    "one certain graph": _ask(CERTAIN),
    "default prior": _ask(prior=ad.Prior()),
    "default prior, vb": _ask(prior=ad.Prior(), engine="vb"),
    "four rows": _ask(rows=4, level=0.5),
    "against the arrows": _ask(question=("risk", "smoking")),
    "no path either way": _ask(question=("age", "sex")),
}


def stored() -> dict[str, dict]:
    """Return the answers that are written down."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def record(entry: dict) -> EffectSummary:
    """Return the record of a stored answer."""
    fields = dict(entry["summary"])
    fields["notes"] = tuple(Note(**{**item, "about": tuple(item["about"])}) for item in fields["notes"])
    fields["adjusted"] = tuple(Adjustment(**item) for item in fields["adjusted"])
    for name, kind in (
        ("least_squares", LeastSquares),
        ("least_squares_alone", LeastSquares),
        ("given_effect", GivenEffect),
        ("hidden", SensitivitySummary),
    ):
        fields[name] = fields[name] and kind(**fields[name])
    if fields["hidden"] is not None:
        fields["hidden"] = replace(fields["hidden"], hits=tuple(fields["hidden"].hits))
    fields["explained"] = tuple(Explained(**item) for item in fields["explained"])
    fields["not_normal"] = tuple(NotNormal(**item) for item in fields["not_normal"])
    fields["heavy_tails"] = tuple(HeavyTails(**item) for item in fields.get("heavy_tails", ()))
    fields["correlated"] = tuple(fields.get("correlated", ()))
    fields["either_side"] = tuple(fields.get("either_side", ()))
    fields["shapes"] = tuple(map(tuple, fields["shapes"]))
    fields["open_pairs"] = tuple(OpenDirection(**item) for item in fields["open_pairs"])
    return EffectSummary(**fields)


def shown(summary: EffectSummary) -> dict:
    """Return all that is shown of an effect."""
    printed = {"screen": screen_text(summary).split("\n"), "text": effect_text(summary).split("\n")}
    return {**printed, "html": effect_html(summary), "json": effect_dict(summary)}


def _fields(summary: EffectSummary) -> dict:
    """Return the record as it is written down; what a note's text was made from is not."""
    found = asdict(summary)
    for note in found["notes"]:
        del note["marked"]
    return found


def update() -> None:
    """Write the present answers."""
    summaries = {name: ask() for name, ask in CASES.items()}
    entries = {name: {"summary": _fields(summary), **shown(summary)} for name, summary in summaries.items()}
    FILE.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    update()
