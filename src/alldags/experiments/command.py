"""``alldags reproduce``: run one of the paper's experiments, or go on with an interrupted run, and report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from alldags import checks
from alldags.datasets.public import ENVIRONMENT, LBIDD_SETS, ihdp_replications, lbidd_sets
from alldags.errors import AlldagsError, did_you_mean
from alldags.experiments.methods import BASELINES, ENGINE_METHODS, REFERENCE, check_methods
from alldags.experiments.runner import Result, Task, run_tasks
from alldags.experiments.semisynthetic import IHDP_GROUP, SemiSynthetic, both_effects, fetch
from alldags.experiments.summary import summarize, to_csv
from alldags.experiments.synthetic import Synthetic, group_name
from alldags.files import write_text

Name: TypeAlias = Literal["small", "large", "ihdp", "lbidd"]

_MOST_JOBS = 1024

PRIOR_TITLES = {"paper": "paper's prior", "default": "default prior"}
IHDP_CURVE = 200  # replications that are subsampled; all are used at full size
LBIDD_CURVES = {
    "a3c4c668a3f84ba3ac42bf78c3ca35b1": "LBIDD a3c4c668 (linear)",
    "30fdfdf9847b4b03ae6dfa0009655fb6": "LBIDD 30fdfdf9 (cubic)",
}


@dataclass(frozen=True)
class Report:
    """What a reproduction leaves behind.

    Parameters
    ----------
    name
        Which experiment.
    folder
        Where its files are.
    text
        Settings and tables in Markdown, also in ``folder/tables.md``.
    files
        Everything that was written.
    """

    name: str
    folder: Path
    text: str
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked for; None is the experiment's default."""

    replicates: int | None
    sizes: tuple[int, ...] | None
    quick: bool
    seed: int
    methods: tuple[str, ...]
    data: str | None


@dataclass(frozen=True)
class Plan:
    """An experiment with its settings filled in."""

    work: Synthetic | SemiSynthetic
    tasks: tuple[Task, ...]
    block: int
    intro: str
    report: Callable[[Plan, list[Result], Path], tuple[str, list[Path]]]


def reproduce(
    name: str,
    replicates: int | None = None,
    sizes: Sequence[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    quick: bool = False,
    seed: int = 0,
    *,
    methods: Sequence[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Report:
    """Run an experiment of the paper and write its figures and tables.

    A run that was interrupted is resumed by calling this again with the same `out`; more `replicates` add to what is
    there. The same seed gives the same numbers for any `n_jobs` and any joblib backend.

    Parameters
    ----------
    name
        ``"small"``, ``"large"``, ``"ihdp"`` or ``"lbidd"``.
    replicates
        Data sets per setting; by default 1,000 (IHDP: as many as are there, of which the first 200 are subsampled),
        for LBIDD 50 subsamples of each size.
    sizes
        Sample sizes.
    out
        Folder for results; by default ``alldags-results/NAME`` (``NAME-quick`` with `quick`).
    n_jobs
        As in joblib; None is what ``joblib.parallel_config`` says, else 1.
    quick
        Few replications, for a first look.
    seed
        Of everything.
    methods
        Names of the methods to run; all by default.
    data
        Folder of public data; by default the environment variable ``ALLDAGS_DATA``, else download.
    progress
        Show a progress bar on stderr; by default when that is a terminal.

    Examples
    --------
    >>> from alldags.experiments.command import reproduce
    >>> report = reproduce("small", replicates=100, n_jobs=2)  # doctest: +SKIP
    >>> print(report.text)  # doctest: +SKIP
    """
    if name not in _PLANS:
        raise AlldagsError(f"there is no experiment {name!r}{did_you_mean(name, _PLANS)}; choose from {list(_PLANS)}")
    _check_numbers(replicates, n_jobs, seed)
    ask = Request(
        replicates=replicates,
        sizes=None if sizes is None else _checked_sizes(sizes),
        quick=quick,
        seed=seed,
        methods=check_methods(methods) if methods is not None else (*ENGINE_METHODS, *BASELINES),
        data=os.environ.get(ENVIRONMENT) if data is None else str(data),  # workers may have another environment
    )
    plan = _PLANS[name](ask)
    folder = Path("alldags-results") / (f"{name}-quick" if quick else name) if out is None else Path(out)
    if isinstance(plan.work, SemiSynthetic):
        fetch(plan.tasks, plan.work.folder)
    settings = {"experiment": name, **asdict(plan.work)}
    settings.pop("folder", None)  # where the data are does not change them
    results = run_tasks(
        plan.work, plan.tasks, folder, settings=settings, block=plan.block, n_jobs=n_jobs, progress=progress
    )
    return _write_report(name, plan, results, folder)


def _check_numbers(replicates: int | None, n_jobs: int | None, seed: int) -> None:
    if replicates is not None:
        checks.whole("replicates", replicates, least=1)
    checks.whole("seed", seed, least=0)
    if n_jobs is not None and (checks.whole("n_jobs", n_jobs, -_MOST_JOBS, _MOST_JOBS) == 0):
        raise AlldagsError("n_jobs must be a number of processes, or -1 for one per processor; got 0")


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(sorted(set(sizes)))
    if not chosen or chosen[0] < 4:
        raise AlldagsError(f"sizes must be sample sizes of at least 4, got {list(sizes)}")
    return chosen


def _write_report(name: str, plan: Plan, results: list[Result], folder: Path) -> Report:
    text, figures = plan.report(plan, results, folder)
    tables, numbers = folder / "tables.md", folder / "summary.csv"
    write_text(tables, text)
    write_text(numbers, to_csv(summarize(results)))
    return Report(name, folder, text, (folder / "results.csv", numbers, tables, *figures))


# -- the four experiments --------------------------------------------------------------------------------------------


def _small(ask: Request) -> Plan:
    work = Synthetic(
        n1=2,
        n2=2,
        sizes=ask.sizes or (10, 20, 50, 100, 300, 1000),
        methods=_bayesian(ask.methods),
        extra=tuple(name for name in ("bayes",) if name in ask.methods),
        seed=ask.seed,
    )
    count = ask.replicates or (100 if ask.quick else 1000)
    return Plan(work, _tasks([group_name(0.5)], count), 10, _synthetic_intro(work, "0.5"), _synthetic_report)


def _large(ask: Request) -> Plan:
    work = Synthetic(
        n1=30,
        n2=30,
        sizes=ask.sizes or ((10, 100, 1000) if ask.quick else (10, 30, 60, 100, 300, 1000)),
        methods=_bayesian(ask.methods),
        seed=ask.seed,
    )
    groups = [group_name(p) for p in (0.3, 0.5, 0.7)]
    count = ask.replicates or (10 if ask.quick else 1000)
    return Plan(work, _tasks(groups, count), 1, _synthetic_intro(work, "0.3, 0.5, 0.7"), _synthetic_report)


def _ihdp(ask: Request) -> Plan:
    count = ask.replicates or (20 if ask.quick else ihdp_replications(ask.data))
    if count > 1000:
        raise AlldagsError(f"IHDP has 1000 replications, got replicates = {count}")
    work = SemiSynthetic(
        sizes=ask.sizes or ((100, 747) if ask.quick else (50, 100, 200, 400, 747)),
        methods=_bayesian(ask.methods),
        baselines=_others(ask.methods),
        extra=_earlier(ask.methods),
        curve_replications=IHDP_CURVE,
        folder=ask.data,
        seed=ask.seed,
    )
    intro = (
        "IHDP, 747 children, 25 covariates. Replication r is data set r; smaller sizes are nested random subsamples of "
        f"its rows, for the first {min(count, IHDP_CURVE)} replications. The truth is mean(y1 - y0) over all 747 rows. "
        + _SEMI_INTRO
    )
    return Plan(work, _tasks([IHDP_GROUP], count), 2, intro, _ihdp_report)


def _lbidd(ask: Request) -> Plan:
    work = SemiSynthetic(
        sizes=ask.sizes or ((200, 1000) if ask.quick else (100, 200, 400, 700, 1000)),
        methods=_bayesian(ask.methods),
        baselines=_others(ask.methods),
        extra=_earlier(ask.methods),
        interval_sizes=1000,
        draws=1000,
        full_only=tuple(name for name in lbidd_sets(ask.data) if name not in LBIDD_CURVES),
        full_once=True,
        folder=ask.data,
        seed=ask.seed,
    )
    count = ask.replicates or (2 if ask.quick else 50)
    tasks = (*_tasks(LBIDD_CURVES, count), *_tasks(work.full_only, 1))
    intro = (
        "LBIDD, 1,000 rows, 177 covariates. The paper picked two sets at random and does not name them; the curves "
        "here are for one linear and one cubic set, from nested random subsamples of rows (at n = 1000 there is one "
        "data set); the table has all ten public sets of 1,000 rows. The truth is mean(y1 - y0) over all rows. "
        + _SEMI_INTRO
    )
    return Plan(work, tasks, 1, intro, _lbidd_report)


_PLANS: dict[str, Callable[[Request], Plan]] = dict(zip(get_args(Name), (_small, _large, _ihdp, _lbidd), strict=True))

_SEMI_INTRO = (
    "Paper's prior: every column centred, covariates scaled to unit variance, treatment and outcome in their units, "
    "tau = s = 1, no intercept (the paper gives neither the values nor the preparation). Default prior: unknown noise, "
    "standardised units, intercept, the slab's variance learned, edges of what drives the treatment linked; default of "
    "0.1: slab variance 1, no link. Every edge has probability 0.5. IPW: l1-penalised logistic propensity, C = 1."
)


def _synthetic_intro(work: Synthetic, probabilities: str) -> str:
    return (
        f"n1 = {work.n1}, n2 = {work.n2}, edge probability {probabilities}, squared error of the effect at x = 1. "
        f"Coefficient variance tau = {work.slab_variance:g} and noise precision s = {work.noise_precision:g}, for data "
        "and prior (the paper does not give its values). Every method sees the same rows; smaller samples are the "
        "first rows of larger ones. Seed "
        f"{work.seed}."
    )


def _tasks(groups: Sequence[str] | dict[str, str], count: int) -> tuple[Task, ...]:
    """Return all replications, groups taking turns, so that an unfinished run has something of each."""
    return tuple(Task(group, replication) for replication in range(count) for group in groups)


def _bayesian(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in ENGINE_METHODS if name in methods)


def _earlier(methods: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return (("default of 0.1", REFERENCE),) if REFERENCE in methods else ()


def _others(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in BASELINES if name in methods)


# -- their reports ---------------------------------------------------------------------------------------------------


def _synthetic_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    from alldags.experiments.figures import synthetic_figure
    from alldags.experiments.tables import curve_tables, paper_comparisons, time_table, verdict

    rows = summarize(results)
    titles = {group: group.replace("=", " = ") for group in dict.fromkeys(task.group for task in plan.tasks)}
    figures = synthetic_figure(rows, folder / "curves", titles)
    first = [row for row in rows if row.group == next(iter(titles))]
    tables = [verdict(rows), curve_tables(rows, titles), paper_comparisons(results, titles), time_table(first)]
    return "\n".join([plan.intro + "\n", *tables]), figures


def _ihdp_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    from alldags.experiments.figures import box_figure, curves_figure
    from alldags.experiments.tables import curve_tables, paper_comparisons, time_table, truth_table

    rows = summarize(results)
    largest = max(row.size for row in rows)
    full = [result for result in results if result.size == largest]
    effects, of_means = both_effects(_data_folder(plan), len(plan.tasks))
    titles = {IHDP_GROUP: "IHDP"}
    figures = curves_figure(rows, folder / "curves", titles, PRIOR_TITLES)
    figures += box_figure(full, folder / "errors", {key: f"n = {largest}, {t}" for key, t in PRIOR_TITLES.items()})
    tables = [curve_tables(rows, titles), paper_comparisons(results, titles)]
    tables += [truth_table(full, effects, of_means), time_table(rows)]
    return "\n".join([plan.intro + "\n", *tables]), figures


def _lbidd_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    from alldags.experiments.figures import curves_figure
    from alldags.experiments.tables import curve_tables, paper_comparisons, set_tables, time_table

    rows = summarize(results)
    curves = [row for row in rows if row.group in LBIDD_CURVES]
    figures = curves_figure(curves, folder / "curves", LBIDD_CURVES, PRIOR_TITLES)
    largest = max(row.size for row in rows)
    head = "### All ten sets with 1,000 rows: estimate (95% interval); ! marks intervals that miss the truth\n"
    tables = set_tables([result for result in results if result.size == largest], LBIDD_SETS)
    first = [row for row in rows if row.group == next(iter(LBIDD_CURVES))]
    text = [plan.intro + "\n", head, tables, curve_tables(curves, LBIDD_CURVES)]
    text += [paper_comparisons(results, LBIDD_CURVES), time_table(first)]
    return "\n".join(text), figures


def _data_folder(plan: Plan) -> str | None:
    return plan.work.folder if isinstance(plan.work, SemiSynthetic) else None
