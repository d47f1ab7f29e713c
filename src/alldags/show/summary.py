"""`EffectSummary`: what there is to say about an effect, as plain numbers, names and notes."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.notes import Note
from alldags.show.correlated import CorrelatedSummary
from alldags.show.sensitivity import SensitivitySummary


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A covariate of the outcome's regression.

    Parameters
    ----------
    name
        Its name.
    probability
        Posterior probability that its edge is present; nan if the engine has no notion of that.
    raised
        Share of its prior that is there because it drives the treatment, or a variable after it.
    """

    name: str
    probability: float
    raised: float


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Coefficient of the treatment in a plain regression, in units of the effect.

    Parameters
    ----------
    estimate, low, high
        The coefficient and its 95% confidence interval.
    covariates
        How many covariates the regression has.
    """

    estimate: float
    low: float
    high: float
    covariates: int


@dataclass(frozen=True, slots=True)
class MissingShare:
    """What missing values do to an answer.

    Parameters
    ----------
    imputations
        Number of completed tables.
    sd
        The part of the standard deviation that comes from not knowing missing values, in units of the effect.
    share
        The same as a share of the variance, between 0 and 1: the fraction of missing information.
    error
        Monte-Carlo standard error of the mean from the number of completed tables, in units of the effect.
    """

    imputations: int
    sd: float
    share: float
    error: float


@dataclass(frozen=True, slots=True)
class ClusterSpread:
    """What rows that belong together do to an answer.

    Parameters
    ----------
    clusters
        Their number.
    sd_independent
        Standard deviation with rows taken for independent, in units of the effect.
    sd_clusters
        Standard deviation of the estimate over other samples of clusters, in units of the effect.
    design_effect
        How many rows say as much as one that stands alone, at least 1.
    """

    clusters: int
    sd_independent: float
    sd_clusters: float
    design_effect: float


@dataclass(frozen=True, slots=True)
class NoiseSpread:
    """What rows say of noise that is larger than the model takes it for, or that has sampling weights.

    Parameters
    ----------
    sd_even
        Standard deviation with noise of even size, in units of the effect.
    factor
        How many times as large it is by what the rows say, at least 1.
    """

    sd_even: float
    factor: float


@dataclass(frozen=True, slots=True)
class GivenEffect:
    """The effect given that there is one, in units of the effect.

    Parameters
    ----------
    mean
        Posterior mean, given a directed path.
    low, high
        Ends of the central interval with the level of the summary, given a directed path.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Explained:
    """How well one regression explains its variable.

    Parameters
    ----------
    name
        The variable.
    r2
        One less the posterior mean of the noise variance relative to the variance of the variable.
    """

    name: str
    r2: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """Posterior median of a ratio, with the ends of its central interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class NotNormal:
    """A variable on the way to the outcome, or the outcome, that is not normal.

    Parameters
    ----------
    name
        Of the variable.
    family
        ``"bernoulli"`` (yes/no), ``"poisson"`` (a count) or ``"survival"`` (a survival time).
    events, rows
        Sum of its values, or number of events, and number of rows.
    until
        Up to which time survived time counts; None for what is no survival time.
    """

    name: str
    family: str
    events: float
    rows: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class HeavyTails:
    """A variable on the way to the outcome, or the outcome, whose noise has heavy tails.

    Parameters
    ----------
    name
        Of the variable.
    df, df_sd
        Degrees of freedom of the noise; posterior mean and standard deviation where they were learned, else 0.
    light, rows
        Number of rows that count less than a quarter of a row of a normal node, and of all.
    least_weight
        Of a row, where a normal node gives each the weight one.
    """

    name: str
    df: float
    light: int
    rows: float
    least_weight: float
    df_sd: float = 0.0

    @property
    def degrees(self) -> str:
        """The degrees of freedom in words."""
        about = f"about {self.df:.2g} degrees of freedom, learned"
        return about if self.df_sd else f"{self.df:g} degrees of freedom"


@dataclass(frozen=True, slots=True)
class OpenDirection:
    """Two variables between which both directions were left open.

    Parameters
    ----------
    first, second
        Names; the edge from first to second is at least as probable as the other one.
    forward, backward
        Posterior probabilities of ``first -> second`` and of ``second -> first``, between 0 and 1.
    """

    first: str
    second: str
    forward: float
    backward: float

    @property
    def none(self) -> float:
        """Posterior probability of no edge between the two."""
        return max(1.0 - self.forward - self.backward, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSummary:
    """An effect as plain numbers, names and notes: words, JSON, HTML and pictures are made from it alone.

    Obtained from `Effect.summary`. *Units of the effect* are units of the outcome per unit of the treatment, both as
    in the user's table. A field that is added later has a default, so that records written down before stay readable.

    Parameters
    ----------
    treatment, outcome
        Names of the two variables.
    mean
        The estimate, in units of the effect; `estimate` says what it is.
    mean_error
        Monte-Carlo standard error of `mean`, in units of the effect; 0 where nothing was sampled.
    mean_bound
        Bound on the error of `mean` from parent sets left out, in units of the effect; 0 if none was.
    sd
        Posterior standard deviation, in units of the effect; infinite if there are too few rows for it to exist.
    sd_structure, sd_coefficients
        The parts of `sd` that come from not knowing the graph and the coefficients, in units of the effect; their
        squares add up to that of `sd`. None if the engine has no notion of a graph.
    level
        Probability that the interval holds, between 0 and 1.
    low, high
        Ends of the central interval, in units of the effect.
    low_error, high_error
        Monte-Carlo standard errors of the two ends, in units of the effect.
    probability_positive, probability_negative
        Posterior probabilities of an effect above and below zero, between 0 and 1; from draws.
    probability_no_effect
        Posterior probability that no directed path leads from treatment to outcome, between 0 and 1; None if the
        engine has no notion of a graph.
    probability_no_effect_error
        Monte-Carlo standard error of `probability_no_effect`; 0 where it is computed and not sampled.
    has_path, has_reverse_path
        Whether any candidate graph has a path from treatment to outcome, and from outcome to treatment.
    rows
        Number of rows of the table, by their weights; with sampling weights their effective number.
    candidates
        Number of candidate graphs that were given, each with its own edges.
    log10_graphs
        Decimal logarithm of the number of graphs that their edges can form.
    learns_hyperparameters
        Whether hyperparameters are averaged over, too; `sd_structure` then holds what comes from not knowing those.
    scope
        What the answer takes into account, in the words of an engine that does not average over graphs; None if it
        averages.
    estimate
        What `mean` is: ``"posterior mean"`` or ``"posterior mode"``.
    engine
        The engine asked for and, where that says more, the engines used and for how many nodes.
    notes
        What a user should know, the worst first.
    adjusted
        Covariates of the outcome's regression, most probable first.
    least_squares
        Plain least squares on all candidate covariates; None if there are too few rows for it.
    mean_without_link
        The estimate without the link to what drives the treatment, in units of the effect; None if there is no link.
    converged
        False if a node was not sampled, or iterated, to the end; `notes` then say what to do.
    missing
        What missing values do to the answer; None if none were imputed.
    clusters
        What rows that belong together do to the answer; None if rows are taken for independent.
    noise
        What noise of uneven size, or weights, do to the answer; None if nothing, or the rows were not asked.
    given_effect
        The effect given that there is one; None where that is certain, impossible, or the engine has no notion of it.
    prior_no_effect
        Probability before the data that no directed path leads from treatment to outcome; None if the prior of the
        edges is not one of independent edges, or directions are open.
    is_binary
        Whether the treatment is coded 0 and 1; False where that is not known.
    least_squares_alone
        Least squares on the treatment without covariates; None if there are too few rows for it.
    explained
        The regressions that the effect runs through, the outcome's last.
    computed
        How the regressions were computed, in words.
    sd_hidden
        The part of `sd` that comes from a hidden common cause that the graph holds; None if it holds none that matters.
        Squared, it adds to those of the other two parts.
    correlated
        What is known of hidden common causes that the graph has on the way.
    hidden
        How strong a hidden common cause would have to be to make the interval reach zero; None where that does not
        apply, or is not quick to say (`Effect.sensitivity` says it anyway).
    measure
        What the effect is a difference of: ``"risk"``, ``"rate"`` (mean count), ``"amount"`` or ``"score"``
        (their means), ``"mean"``, ``"log-odds"``, ``"log rate"`` or ``"log mean"``; empty for the outcome itself, to
        which the effect is in proportion.
    contrast
        The two values of the treatment that are compared; None: one unit more than each row's own value.
    over
        Over which rows the outcome is averaged.
    levels
        Mean outcome under the lower and the higher value; None where effects do not vary between rows.
    risk_ratio, odds_ratio
        Of those two; None where it has no meaning.
    not_normal
        Variables on the way, and the outcome, that are not normal.
    mean_straight_line
        The estimate with straight lines through all variables; None where the estimate is that.
    probability_reverse, probability_neither
        Where both are possible: posterior probabilities that the outcome acts on the treatment, and that neither acts
        on the other, between 0 and 1; otherwise None.
    open_pairs
        Pairs of variables whose direction was left open where the effect runs, that of treatment and outcome first,
        then those that the data decide least.
    either_side
        Variables that may act on the treatment or be acted on by it: confounders in some graphs only.
    sd_direction
        The part of `sd_structure` that comes from directions which no number of observational rows can tell, in units
        of the effect; None where every direction is known.
    treatment_words, outcome_words
        What 0 and 1 stand for, where the column has two words or truth values; None where it has numbers.
    heavy_tails
        Variables on the way, and the outcome, whose noise has heavy tails.
    shapes
        Pairs of a shape of the outcome's regression, ``"straight"`` or ``"curves"``, and its posterior probability;
        none where it could not bend.
    is_randomized
        Whether the treatment was randomised, so that no hidden cause acts on it.
    has_sensitivity
        Whether `Effect.sensitivity` says of this effect what a hidden cause would do.
    rows_outcome
        Number of rows in the regression of the outcome, where that is less than `rows`, as where it is missing in
        some; else None.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> summary = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").summary(level=0.9)
    >>> summary.treatment, round(summary.mean, 3), summary.level, summary.engine
    ('smoking', 0.894, 0.9, 'auto (exact: 3 nodes)')
    """

    treatment: str
    outcome: str
    mean: float
    mean_error: float
    mean_bound: float
    sd: float
    sd_structure: float | None
    sd_coefficients: float | None
    level: float
    low: float
    high: float
    low_error: float
    high_error: float
    probability_positive: float
    probability_negative: float
    probability_no_effect: float | None
    probability_no_effect_error: float
    has_path: bool
    has_reverse_path: bool
    rows: float
    candidates: int
    log10_graphs: float
    learns_hyperparameters: bool
    scope: str | None
    estimate: str
    engine: str
    notes: tuple[Note, ...]
    adjusted: tuple[Adjustment, ...] = ()
    least_squares: LeastSquares | None = None
    mean_without_link: float | None = None
    converged: bool = True
    missing: MissingShare | None = None
    clusters: ClusterSpread | None = None
    noise: NoiseSpread | None = None
    given_effect: GivenEffect | None = None
    prior_no_effect: float | None = None
    is_binary: bool = False
    least_squares_alone: LeastSquares | None = None
    explained: tuple[Explained, ...] = ()
    computed: str = ""
    sd_hidden: float | None = None
    correlated: tuple[CorrelatedSummary, ...] = ()
    hidden: SensitivitySummary | None = None
    measure: str = ""
    contrast: tuple[float, float] | None = None
    over: str = "sample"
    levels: tuple[float, float] | None = None
    risk_ratio: Ratio | None = None
    odds_ratio: Ratio | None = None
    not_normal: tuple[NotNormal, ...] = ()
    mean_straight_line: float | None = None
    probability_reverse: float | None = None
    probability_neither: float | None = None
    open_pairs: tuple[OpenDirection, ...] = ()
    either_side: tuple[str, ...] = ()
    sd_direction: float | None = None
    treatment_words: tuple[str, str] | None = None
    outcome_words: tuple[str, str] | None = None
    heavy_tails: tuple[HeavyTails, ...] = ()
    shapes: tuple[tuple[str, float], ...] = ()
    is_randomized: bool = False
    has_sensitivity: bool = False
    rows_outcome: float | None = None

    @property
    def asks_whether(self) -> bool:
        """Whether it was open, before the data, that there is no effect at all."""
        return self.prior_no_effect != 0.0
