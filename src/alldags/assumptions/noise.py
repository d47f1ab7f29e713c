"""Notes on noise: that rows ask for a wider interval than the model, or that they were not asked."""

from __future__ import annotations

from collections.abc import Iterator

from alldags.effects.jackknife import Jackknife
from alldags.notes import Note
from alldags.show.numbers import number
from alldags.wording import either


def noise_notes(check: Jackknife | str, *, counts: bool) -> Iterator[Note]:
    """Yield what rows say of the spread of an effect.

    Parameters
    ----------
    check
        What they say; or why they were not asked, empty if that was turned off.
    counts
        Whether the effect runs through counts.
    """
    if isinstance(check, str):
        if check:
            yield Note(f"noise was taken for even, and the rows were not asked whether it is: {check}")
    elif check.kind not in ("clusters", "errors") and check.factor > 1.0:
        yield _weights_note(check) if check.kind == "weights" else _uneven_note(check, counts)


def _weights_note(check: Jackknife) -> Note:
    return Note(
        f"sampling weights: by how the rows vary, each with its weight, the standard deviation is {check.factor:.2f} "
        "times what their effective number gives, and the interval is that much wider"
    )


def _uneven_note(check: Jackknife, counts: bool) -> Note:
    what = "counts vary more than their mean says" if counts else "noise is uneven"
    keep = either("robust=False", "--no-robust")
    text = (
        f"{what} where it matters for this effect: by how the rows vary, the standard deviation is {check.factor:.2f} "
        f"times that of the model ({number(check.sd)}), and the interval is that much wider; {keep} keeps the "
        "model's"
    )
    return Note(text, "check")
