"""The built-in example, asked and answered."""

from __future__ import annotations

from alldags.datasets.smoking import example
from alldags.fitting import fit
from alldags.show.table import Table


def demo_text() -> str:
    """Return the demo's text: the question, the answer, and why."""
    study = example()
    posterior = fit(study.table, study.graph, terms=None, rng=0)  # paths add up along straight lines
    effect = posterior.effect(study.treatment, study.outcome)
    rows = len(next(iter(study.table.values())))
    return "\n".join(
        [
            f"A simulated study of {rows} people with {len(study.graph.variables)} variables. Which of its",
            f"{len(study.graph.edges)} possible causal edges exist is not known, so every graph they can form is",
            f"averaged over. The true effect of {study.treatment} on {study.outcome} is {study.true_effect:.3g}.",
            "",
            str(effect),
            "",
            "Paths that carry the effect (the means add up to the posterior mean):",
            str(effect.paths(5)),
            "",
            "What it would help to know (effect with and without an edge):",
            _short_influence(effect.edge_influence()),
        ]
    )


def _short_influence(table: Table) -> str:
    rows = list(table.rows())[:4]
    return str(
        Table(
            {
                "edge": [f"{row['cause']} -> {row['effect']}" for row in rows],
                "prior": [row["prior"] for row in rows],
                "after data": [row["posterior"] for row in rows],
                "kept": [row["kept_as_confounder"] for row in rows],
                "with": [row["effect_if_present"] for row in rows],
                "without": [row["effect_if_absent"] for row in rows],
                "variance removed": [row["variance_removed"] for row in rows],
            }
        )
    )
