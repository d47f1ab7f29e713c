"""The picture of the README: the candidate graph after the data, and the effect; ``python docs/figures/readme.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import alldags as ad

TARGET = Path(__file__).parents[1] / "_static" / "readme.svg"


def main() -> None:
    """Draw the picture."""
    study = ad.datasets.example()
    posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    effect = posterior.effect("smoking", "risk")
    mpl.rcParams["svg.hashsalt"] = "alldags"  # the same file every time
    figure = plt.figure(figsize=(11, 3.6))
    left, right = figure.add_axes((0.0, 0.0, 0.6, 0.9)), figure.add_axes((0.67, 0.3, 0.31, 0.56))
    study.graph.plot(left, "smoking", "risk", posterior.edge_probabilities())
    effect.plot(right)
    figure.text(0.01, 0.93, "Which edges do the data support?", fontsize=12)
    figure.text(0.62, 0.93, "What does smoking do to risk?", fontsize=12)
    figure.savefig(TARGET, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
