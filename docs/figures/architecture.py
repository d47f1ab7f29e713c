"""Draw the flow picture of docs/explanation/architecture.md: ``python docs/figures/architecture.py``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

OUT = Path(__file__).parents[1] / "_static" / "architecture.svg"
WIDTH, HEIGHT, GAP = 146, 64, 26
STEP = WIDTH + GAP
ROW = 84
MARGIN = 10


class Box(NamedTuple):
    """A folder: its place in columns and rows, its name, what leaves it, and where that goes."""

    column: int
    row: float
    folder: str
    gives: tuple[str, ...]
    to: tuple[str, ...] = ()


BOXES = (
    Box(0, 0, "data/", ("Source, Moments",), ("nodes/",)),
    Box(0, 1, "graph/", ("CandidateGraph",), ("nodes/",)),
    Box(0, 2, "priors/", ("Prior",), ("nodes/",)),
    Box(1, 1, "nodes/", ("WorkingData.of(child)", "NodeProblem"), ("engines/",)),
    Box(2, 1, "engines/", ("NodePosterior",), ("models/",)),
    Box(3, 1, "models/", ("NodeBlock", "FittedGraph, Mixture"), ("effects/",)),
    Box(4, 1, "effects/", ("TotalEffect, paths,", "influence, outcome"), ("results/",)),
    Box(5, 1, "results/", ("Posterior, Effect", "EffectSummary"), ("show/",)),
    Box(6, 1, "show/", ("words, JSON, HTML,", "tables, pictures"), ()),
)


def corner(box: Box) -> tuple[float, float]:
    return MARGIN + box.column * STEP, MARGIN + box.row * ROW


def draw_box(box: Box) -> str:
    x, y = corner(box)
    lines = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff" stroke="#2f6db3"/>']
    lines.append(f'<text x="{x + WIDTH / 2}" y="{y + 18}" font-weight="bold">{box.folder}</text>')
    lines += [
        f'<text x="{x + WIDTH / 2}" y="{y + 36 + 15 * i}" font-size="11">{text}</text>'
        for i, text in enumerate(box.gives)
    ]
    return "\n".join(lines)


def draw_arrow(start: Box, end: Box) -> str:
    x, y = corner(start)
    u, v = corner(end)
    y, v = y + HEIGHT / 2, v + HEIGHT / 2 + 14 * (start.row - end.row)
    path = f"M {x + WIDTH} {y} C {x + WIDTH + GAP / 2} {y} {u - GAP / 2} {v} {u - 7} {v}"
    return f'<path d="{path}" fill="none" stroke="#444444" marker-end="url(#tip)"/>'


def picture() -> str:
    """Return the picture as SVG; a white ground, so that it can be read on a dark page, too."""
    width, height = 2 * MARGIN + 7 * STEP - GAP, 2 * MARGIN + 2 * ROW + HEIGHT
    by_name = {box.folder: box for box in BOXES}
    parts = [draw_arrow(box, by_name[name]) for box in BOXES for name in box.to] + [draw_box(box) for box in BOXES]
    tip = '<marker id="tip" markerWidth="8" markerHeight="8" refX="1" refY="4" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="#444444"/></marker>'  # noqa: E501
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="13" text-anchor="middle" fill="#222222">',
            f"<defs>{tip}</defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    OUT.write_text(picture(), encoding="utf-8")
