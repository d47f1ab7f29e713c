"""An effect as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from alldags.show.remarks import remarks
from alldags.show.summary import EffectSummary
from alldags.show.table import html_table
from alldags.show.words import notes, rows, sentence


def effect_html(summary: EffectSummary) -> str:
    """Return sentences, table and notes as HTML."""
    small = "".join(f"<p><small>{escape(text)}</small></p>" for text in (*remarks(summary), *notes(summary)))
    return f"<div><p>{escape(sentence(summary))}</p>{html_table(['', ''], rows(summary))}{small}</div>"
