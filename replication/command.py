"""``python -m replication``: run one of the paper's experiments, or go on with an interrupted run, and report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from alldags import checks
from alldags.datasets.challenge import ACIC_SETTINGS
from alldags.datasets.public import ENVIRONMENT, ihdp_replications, lbidd_sets
from alldags.errors import AlldagsError, did_you_mean
from alldags.files import write_text
from replication.acic import CHOICES, Acic, group_of
from replication.acic import fetch as fetch_acic
from replication.methods import BASELINES, ENGINE_METHODS, METHODS, REFERENCE, RIVALS, TERMS, check_methods
from replication.reports import LBIDD_CURVES, acic_report, ihdp_report, lbidd_report, synthetic_report
from replication.rivals import bart_installed
from replication.runner import Result, Task, run_tasks, write_results
from replication.semisynthetic import IHDP_GROUP, SemiSynthetic, fetch
from replication.summary import summarize, to_csv
from replication.synthetic import Synthetic, group_name

Name: TypeAlias = Literal["small", "large", "ihdp", "lbidd", "acic"]

_MOST_JOBS = 1024

IHDP_CURVE = 200  # replications that are subsampled; all are used at full size


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
    first: int
    sizes: tuple[int, ...] | None
    quick: bool
    seed: int
    methods: tuple[str, ...]
    data: str | None


@dataclass(frozen=True)
class Plan:
    """An experiment with its settings filled in."""

    work: Synthetic | SemiSynthetic | Acic
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
    first: int = 1,
    data: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Report:
    """Run an experiment of the paper, or ACIC 2016, and write its figures and tables.

    A run that was interrupted is resumed by calling this again with the same `out`; more `replicates` add to what is
    there. The same seed gives the same numbers for any `n_jobs` and any joblib backend.

    Parameters
    ----------
    name
        ``"small"``, ``"large"``, ``"ihdp"``, ``"lbidd"`` or ``"acic"``.
    replicates
        Data sets per setting; by default 1,000 (IHDP: as many as are there, of which the first 200 are subsampled),
        for LBIDD 50 subsamples of each size, for ACIC 100 per setting.
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
    first
        Number of the first replication.
    data
        Folder of public data; by default the environment variable ``ALLDAGS_DATA``, else download.
    progress
        Show a progress bar on stderr; by default when that is a terminal.

    Examples
    --------
    >>> from replication.command import reproduce
    >>> report = reproduce("small", replicates=100, n_jobs=2)  # doctest: +SKIP
    >>> print(report.text)  # doctest: +SKIP
    """
    if name not in _PLANS:
        raise AlldagsError(f"there is no experiment {name!r}{did_you_mean(name, _PLANS)}; choose from {list(_PLANS)}")
    _check_numbers(replicates, n_jobs, seed)
    checks.whole("first", first, least=1)
    ask = Request(
        replicates=replicates,
        first=first,
        sizes=None if sizes is None else _checked_sizes(sizes),
        quick=quick,
        seed=seed,
        methods=check_methods(methods) if methods is not None else tuple(METHODS),
        data=os.environ.get(ENVIRONMENT) if data is None else str(data),  # workers may have another environment
    )
    plan = _PLANS[name](ask)
    folder = Path("alldags-results") / (f"{name}-quick" if quick else name) if out is None else Path(out)
    if isinstance(plan.work, SemiSynthetic):
        fetch(plan.tasks, plan.work.folder)
    if isinstance(plan.work, Acic):
        fetch_acic(plan.work.folder)
    run = partial(run_tasks, block=plan.block, n_jobs=n_jobs, progress=progress)
    if isinstance(plan.work, Acic):
        results = _method_by_method(plan.work, plan.tasks, folder, run)
    else:
        results = run(plan.work, plan.tasks, folder, settings=_settings(name, plan.work))
    return _write_report(name, plan, results, folder)


def _method_by_method(
    work: Acic, tasks: Sequence[Task], folder: Path, run: Callable[..., list[Result]]
) -> list[Result]:
    """Run each method in a folder of its own, so that a run may be joined by methods, and by replications of each."""
    results = []
    for method in work.methods:
        alone = replace(work, methods=(method,))
        results += run(alone, work.tasks_of(method, tasks), folder / method, settings=_settings("acic", alone))
    write_results(folder, results)
    return results


def _settings(name: str, work: Synthetic | SemiSynthetic | Acic) -> dict[str, Any]:
    """Return what the results of a task depend on."""
    settings = {"experiment": name, **asdict(work)}
    settings.pop("folder", None)  # where the data are does not change them
    settings.pop("costly_replications", None)  # nor does how many there are
    return settings


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


# -- the five experiments --------------------------------------------------------------------------------------------


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
    return Plan(work, _tasks([group_name(0.5)], count, ask.first), 10, _synthetic_intro(work, "0.5"), synthetic_report)


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
    return Plan(work, _tasks(groups, count, ask.first), 1, _synthetic_intro(work, "0.3, 0.5, 0.7"), synthetic_report)


def _ihdp(ask: Request) -> Plan:
    count = ask.replicates or (20 if ask.quick else ihdp_replications(ask.data) + 1 - ask.first)
    if count < 1 or ask.first - 1 + count > 1000:
        start = f" from {ask.first} on" if ask.first > 1 else ""
        raise AlldagsError(f"IHDP has 1000 replications, got replicates = {count}{start}")
    sizes = ask.sizes or ((100, 747) if ask.quick else (50, 100, 200, 400, 747))
    work = SemiSynthetic(
        sizes=sizes,
        methods=_bayesian(ask.methods),
        baselines=_others(ask.methods),
        extra=_earlier(ask.methods),
        curve_replications=IHDP_CURVE,
        curved_size=_curved(ask, sizes, 747),
        folder=ask.data,
        seed=ask.seed,
    )
    intro = (
        "IHDP, 747 children, 25 covariates. Replication r is data set r; smaller sizes are nested random subsamples of "
        f"its rows, for the first {min(count, IHDP_CURVE)} replications. The truth is mean(y1 - y0) over all 747 rows. "
        + _SEMI_INTRO
    )
    return Plan(work, _tasks([IHDP_GROUP], count, ask.first), 2, intro, ihdp_report)


def _lbidd(ask: Request) -> Plan:
    sizes = ask.sizes or ((200, 1000) if ask.quick else (100, 200, 400, 700, 1000))
    work = SemiSynthetic(
        sizes=sizes,
        methods=_bayesian(ask.methods),
        baselines=_others(ask.methods),
        extra=_earlier(ask.methods),
        interval_sizes=1000,
        draws=1000,
        curved_size=_curved(ask, sizes, 1000),
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
    return Plan(work, tasks, 1, intro, lbidd_report)


def _acic(ask: Request) -> Plan:
    quick_ones = [name for name in RIVALS if name != "bart"]
    wanted = (*quick_ones, TERMS, REFERENCE, *(("bart",) if bart_installed() else ()))
    work = Acic(
        sizes=ask.sizes or (1000,),
        methods=tuple(name for name in wanted if name in ask.methods),
        folder=ask.data,
        seed=ask.seed,
    )
    if not work.methods:
        raise AlldagsError(f"none of {list(ask.methods)} can be run on ACIC here; choose from {list(wanted)}")
    count = ask.replicates or (3 if ask.quick else 100)
    kept = [group_of(setting) for setting in ACIC_SETTINGS if setting not in CHOICES]
    tasks = (*_tasks(kept, count, ask.first), *_tasks([group_of(setting) for setting in CHOICES], count, ask.first))
    return Plan(work, tasks, 1, _ACIC_INTRO + _bart_line(work), acic_report)


def _bart_line(work: Acic) -> str:
    if not bart_installed():
        return " BART was not run: the package bartz is not installed."
    return f" BART on the first {work.costly_replications} replications of a setting." if "bart" in work.methods else ""


_PLANS: dict[str, Callable[[Request], Plan]] = dict(
    zip(get_args(Name), (_small, _large, _ihdp, _lbidd, _acic), strict=True)
)

_ACIC_INTRO = (
    "ACIC 2016, 4,802 rows, 58 covariates (79 columns with categories as zeros and ones). In every replication noise "
    "is drawn anew around the published means and rows are drawn without replacement. The truth is mean(mu1 - mu0) "
    "over the rows used. Settings 4 and 5 were kept for reporting; what curves are made of was chosen on settings 1 "
    "to 3 and on IHDP 1 to 24 (and a forerunner was tried twice on eight subsamples of 4 and 5). Straight lines: "
    "every covariate a candidate, default prior. Curves: the same with `terms={outcome: Terms()}`. IPW: l1-penalised "
    "logistic propensity, C = 1. Lin's regression: all covariates and their products with the treatment, HC2. AIPW "
    "and DML: scikit-learn's histogram boosting, cross-fitted in 5 folds."
)

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


def _tasks(groups: Sequence[str] | dict[str, str], count: int, first: int = 1) -> tuple[Task, ...]:
    """Return all replications, groups taking turns, so that an unfinished run has something of each."""
    return tuple(Task(group, replication) for replication in range(first - 1, first - 1 + count) for group in groups)


def _curved(ask: Request, sizes: Sequence[int], rows: int) -> int | None:
    """Return the size at which curves are fitted: the largest."""
    return min(max(sizes), rows) if TERMS in ask.methods else None


def _bayesian(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in ENGINE_METHODS if name in methods)


def _earlier(methods: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return (("default of 0.1", REFERENCE),) if REFERENCE in methods else ()


def _others(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in BASELINES if name in methods)
