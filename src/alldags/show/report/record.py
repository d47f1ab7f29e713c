"""`Report`: all that a report says, as plain numbers, names and texts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from alldags.show.plots.layout import Edge
from alldags.show.summary import EffectSummary
from alldags.typing import FloatArray


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """One candidate edge, and what the effect owes to it.

    Parameters
    ----------
    cause, effect
        The edge.
    prior
        Its probability as stated.
    posterior
        Its probability after the data, by itself; None if the engine has no notion of an edge being present.
    kept
        Its probability as used in the effect: larger where it is kept as that of a confounder.
    raised
        What its link to the treatment added to the prior.
    present, absent
        Posterior mean of the effect with and without it, in units of the effect; nan if it has no bearing on it.
    removed
        Share of the posterior variance of the effect that knowing the edge would remove.
    flips_at
        Stated probability at which the mean would change sign; nan if there is none.
    moves
        Whether the mean at another stated probability is known in closed form.
    reverse, turned
        Where both directions are open: posterior probability of the other one, and mean of the effect given that;
        `absent` is then the mean given no edge between the two.
    """

    cause: str
    effect: str
    prior: float
    posterior: float | None
    kept: float | None = None
    raised: float = 0.0
    present: float = math.nan
    absent: float = math.nan
    removed: float = 0.0
    flips_at: float = math.nan
    moves: bool = False
    reverse: float = 0.0
    turned: float = math.nan

    @property
    def pair(self) -> Edge:
        """Cause and effect."""
        return self.cause, self.effect

    @property
    def bears(self) -> bool:
        """Whether the effect depends on it."""
        return sum(map(math.isfinite, (self.present, self.absent, self.turned))) > 1

    @property
    def weight(self) -> float:
        """How much of the effect rests on it: what would go if it went, times its probability; in units of it."""
        probability = self.kept or self.posterior or 0.0
        gaps = [abs(self.present - other) for other in (self.absent, self.turned) if math.isfinite(other)]
        return probability * max(gaps) if self.bears and math.isfinite(self.present) else 0.0


@dataclass(frozen=True, slots=True)
class PathFacts:
    """One directed path: its mean contribution in units of the effect, and the probability of all its edges."""

    path: str
    mean: float
    sd: float
    probability: float | None


@dataclass(frozen=True, slots=True)
class RegressionFacts:
    """How one regression was computed."""

    name: str
    candidates: int
    computed: str
    r2: float | None
    reliable: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A further part of a report, such as a check: a title, paragraphs and a table.

    Parameters
    ----------
    title
        Heading.
    paragraphs
        Plain text.
    columns, rows
        A table, all cells as text; empty for none.
    picture
        SVG; empty for none.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    picture: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report says.

    Parameters
    ----------
    summary
        The answer.
    draws
        Draws of the effect, exact zeros where there is none; shape (size,).
    variables, tiers
        The candidate graph's variables, and these in layers, causes first.
    edges
        Every candidate edge.
    several
        Whether there are several candidate graphs, of which the heaviest is drawn.
    paths, mediators
        What carries the effect; the means of the paths add up to the effect's.
    regressions
        How each regression that the effect runs through was computed.
    origin
        Pairs of a name and a value: versions, prior, seed.
    graph_file
        The candidate graph as a file, and the name of its format.
    python
        Lines of Python that compute the answer again.
    plain_mean
        Mean of the effect without hidden common causes in the graph: what paths and edges account for.
    adds_up
        Whether the paths add up to it; not for differences of risks, where paths are on the scale of the regressions.
    hidden
        The graph's hidden common causes, in words.
    prior
        The prior in words.
    version
        Of this package.
    least_absent
        Least prior probability of absence that a link leaves to an uncertain edge.
    command
        The command that wrote the report; empty if none did.
    checks
        Further parts: checks of the data, sensitivity, stability.
    """

    summary: EffectSummary
    draws: FloatArray
    variables: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    edges: tuple[EdgeFacts, ...]
    several: bool
    paths: tuple[PathFacts, ...]
    mediators: tuple[PathFacts, ...]
    regressions: tuple[RegressionFacts, ...]
    origin: tuple[tuple[str, str], ...]
    graph_file: tuple[str, str]
    python: str
    plain_mean: float = 0.0
    adds_up: bool = True
    hidden: tuple[str, ...] = ()
    prior: str = ""
    version: str = ""
    least_absent: float = 0.0
    command: str = ""
    checks: tuple[Section, ...] = field(default=())

    @property
    def influences(self) -> list[EdgeFacts]:
        """The uncertain edges that the effect depends on, the most informative first."""
        return sorted((edge for edge in self.edges if edge.bears), key=lambda edge: (-edge.removed, -edge.weight))
