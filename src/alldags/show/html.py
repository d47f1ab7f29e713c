"""An effect as HTML, for notebooks: what is printed, and everything else folded."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from alldags.show.remarks import remarks
from alldags.show.screen import screen
from alldags.show.summary import EffectSummary
from alldags.show.table import html_table
from alldags.show.words import notes, rows, sentence

_MOST_WARNINGS = 3


def effect_html(summary: EffectSummary) -> str:
    """Return the answer as HTML, with all there is to say folded under it."""
    shown = screen(summary)
    beware = [f"! {text}" for text in shown.warnings[:_MOST_WARNINGS]]
    under = [text for text in (*shown.under, *beware, shown.hidden) if text]
    table = html_table(["", ""], list(shown.rows))
    return f"<div><p>{escape(shown.sentence)}</p>{table}{_small(under)}{_everything(summary)}</div>"


def _everything(summary: EffectSummary) -> str:
    said = f"<p>{escape(sentence(summary))}</p>{html_table(['', ''], rows(summary))}"
    return f"<details><summary>Details</summary>{said}{_small((*remarks(summary), *notes(summary)))}</details>"


def _small(texts: Iterable[str]) -> str:
    return "".join(f"<p><small>{escape(text)}</small></p>" for text in texts)
