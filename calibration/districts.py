"""``python -m calibration.districts [--sets 200] [--only WORD]``: hidden causes that data can speak to.

Errors of treatment and outcome are correlated. The truth is not drawn from any prior, except in the designs that say
so. Beside ours stand least squares, two-stage least squares, limited information, the same for somebody who was told
which instruments are valid (the oracle), and the front-door formula. Seeds below 10,000 were used for choices.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy import stats

import alldags as ad
from alldags.files import write_text
from alldags.pairs.problem import SECOND_SLABS, WIDE_SLAB, first_slabs
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown
from calibration.lines import fit

EFFECT = 0.5
SMALL = (0.0, 0.1)
METHODS = (
    "ours",
    "least squares",
    "two-stage",
    "limited information",
    "oracle",
    "front-door formula",
    "prior alone",
)
Answer = tuple[float, float, float]
"""An estimate with the ends of its 95% interval."""


@dataclass(frozen=True)
class Found:
    """What one method said of one data set."""

    design: str
    seed: int
    method: str
    estimate: float
    low: float
    high: float
    truth: float
    rank: float = math.nan
    second_rank: float = math.nan
    identified: float = math.nan
    seconds: float = math.nan
    no_effect: float = math.nan


@dataclass(frozen=True, eq=False)
class Sample:
    """One data set: instruments `z` (n, k), covariates `c` (n, q), which instruments are valid, and the truth."""

    x: FloatArray
    y: FloatArray
    z: FloatArray
    c: FloatArray
    truth: float
    valid: tuple[bool, ...] = ()
    rho: float = math.nan
    others: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def instruments(self) -> list[str]:
        """Their names."""
        return [f"z{i}" for i in range(self.z.shape[1])]

    @property
    def covariates(self) -> list[str]:
        """Their names."""
        return [f"c{i}" for i in range(self.c.shape[1])]

    @property
    def table(self) -> dict[str, FloatArray]:
        """As a table."""
        named = zip((*self.instruments, *self.covariates), (*self.z.T, *self.c.T), strict=True)
        return {**dict(named), "x": self.x, **self.others, "y": self.y}


def drawn(
    rng: np.random.Generator,
    n: int,
    first: FloatArray,
    second: FloatArray,
    truth: float,
    rho: float,
    covariates: int = 0,
) -> Sample:
    """Make a pair of regressions with correlated errors; instruments act by `first` and `second`."""
    z, c = rng.standard_normal((n, len(first))), rng.standard_normal((n, covariates))
    u = rng.standard_normal(n)
    v = rho * u + math.sqrt(1.0 - rho**2) * rng.standard_normal(n)
    x = z @ first + c @ np.full(covariates, 0.5) + u
    y = truth * x + z @ second + c @ np.full(covariates, 0.5) + v
    return Sample(x, y, z, c, truth, tuple((second == 0.0).tolist()), rho)


# -- designs -----------------------------------------------------------------------------------------------------------


def strong(rng: np.random.Generator, n: int) -> Sample:
    """Three strong valid instruments."""
    return drawn(rng, n, np.full(3, 0.5), np.zeros(3), EFFECT, 0.5, 2)


def weak(rng: np.random.Generator, concentration: float, rho: float) -> Sample:
    """Three valid instruments that together have a given concentration."""
    slopes = rng.standard_normal(3)
    slopes *= math.sqrt(concentration / 500 / (slopes @ slopes))
    return drawn(rng, 500, slopes, np.zeros(3), EFFECT, rho, 2)


def invalid(rng: np.random.Generator, n: int, count: int) -> Sample:
    """Eight instruments, the first of which act on the outcome, too."""
    direct = np.zeros(8)
    slopes = rng.uniform(0.15, 0.45, 8)
    direct[:count] = rng.uniform(0.3, 1.2, count) * rng.choice([-1, 1], count)
    return drawn(rng, n, slopes, direct, rng.uniform(-1, 1), rng.uniform(-0.8, 0.8))


def in_doubt(rng: np.random.Generator, n: int, truth: float) -> Sample:
    """Eight instruments, three of which act on the outcome, too, and an effect that is small or none."""
    slopes, direct = rng.uniform(0.15, 0.45, 8), np.zeros(8)
    direct[:3] = rng.uniform(0.3, 1.2, 3) * rng.choice([-1, 1], 3)
    return drawn(rng, n, slopes, direct, truth, rng.uniform(-0.8, 0.8))


def strong_in_doubt(rng: np.random.Generator, truth: float) -> Sample:
    """Three strong valid instruments, and an effect that is small or none."""
    return drawn(rng, 200, np.full(3, 0.5), np.zeros(3), truth, 0.5, 2)


def many(rng: np.random.Generator, concentration: float) -> Sample:
    """Twenty instruments, sixteen of which do nothing."""
    slopes = np.zeros(20)
    slopes[:4] = rng.standard_normal(4)
    slopes *= math.sqrt(concentration / 500 / (slopes @ slopes))
    return drawn(rng, 500, slopes, np.zeros(20), EFFECT, 0.5)


def none(rng: np.random.Generator) -> Sample:
    """No instrument, and a correlation from its prior."""
    return drawn(rng, 200, np.zeros(0), np.zeros(0), EFFECT, 2.0 * rng.beta(2.0, 2.0) - 1.0, 4)


def absent(rng: np.random.Generator, rho: float = 0.0) -> Sample:
    """Three strong instruments and no hidden cause."""
    return drawn(rng, 200, np.full(3, 0.5), np.zeros(3), EFFECT, rho, 2)


def one_ratio(rng: np.random.Generator) -> Sample:
    """Five of eight instruments invalid, all in one ratio: they look like valid ones of another effect."""
    return drawn(rng, 200, np.full(8, 0.25), np.array([0.8] * 5 + [0.0] * 3), 0.4, 0.6)


def all_a_little(rng: np.random.Generator) -> Sample:
    """Every instrument a little invalid."""
    return drawn(rng, 500, rng.uniform(0.15, 0.45, 8), 0.15 * rng.standard_normal(8), 0.4, 0.5)


def one_ratio_covariates(rng: np.random.Generator) -> Sample:
    """Four covariates whose effects are in one ratio, and no hidden cause; nobody called them instruments."""
    first = rng.uniform(0.2, 0.6, 4)
    made = drawn(rng, 200, first, 0.8 * first, 0.4, 0.0)
    return Sample(made.x, made.y, made.z[:, :0], made.z, 0.4)


def front_door(rng: np.random.Generator, n: int) -> Sample:
    """All of the effect goes through a mediator that nothing hidden acts on."""
    u = rng.standard_normal(n)
    v = 0.6 * u + 0.8 * rng.standard_normal(n)
    m = 0.8 * u + rng.standard_normal(n)
    return Sample(u, 0.5 * m + v, np.zeros((n, 0)), np.zeros((n, 0)), 0.4, others={"m": m})


def hidden_mediator(rng: np.random.Generator) -> Sample:
    """Something hidden acts on treatment and mediator; the treatment has an instrument."""
    n = 200
    u, z = rng.standard_normal(n), rng.standard_normal((n, 1))
    v = 0.6 * u + 0.8 * rng.standard_normal(n)
    x = 0.5 * z[:, 0] + u
    m = 0.8 * x + v
    return Sample(x, 0.5 * m + rng.standard_normal(n), z, np.zeros((n, 0)), 0.4, (True,), others={"m": m})


def from_prior(rng: np.random.Generator) -> Sample:
    """Everything drawn from the prior: two instruments, each valid with probability 0.8."""
    n, k = 60, 2
    z = rng.standard_normal((n, k))
    z = (z - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    rho = 2.0 * rng.beta(2.0, 2.0) - 1.0
    u = rng.standard_normal(n)
    v = rho * u + math.sqrt(1.0 - rho**2) * rng.standard_normal(n)
    x = z @ (math.sqrt(rng.choice(first_slabs(n - 1.0, k))) * rng.standard_normal(k)) + u
    left = math.sqrt(1.0 - rho**2)
    truth = left * math.sqrt(WIDE_SLAB) * rng.standard_normal() / x.std(ddof=1)
    direct = left * math.sqrt(rng.choice(SECOND_SLABS)) * rng.standard_normal(k) * (rng.random(k) < 0.2)
    return Sample(x, truth * x + z @ direct + v, z, np.zeros((n, 0)), truth, tuple((direct == 0.0).tolist()), rho)


# -- ours --------------------------------------------------------------------------------------------------------------


def graph_of(sample: Sample, valid: float | str = 1.0, hidden: float = 1.0, edge: float = 1.0) -> ad.CandidateGraph:
    """Return what a user would say: covariates act on both, instruments on the treatment, something hidden on both."""
    tiers = [[*sample.instruments, *sample.covariates], ["x"], ["y"]]
    graph = ad.CandidateGraph.from_tiers(tiers, 0.5).with_edge("x", "y", edge).with_hidden("x", "y", hidden)
    return graph.instruments(sample.instruments, "x", valid) if sample.instruments else graph  # type: ignore[arg-type]


def front_graph(sample: Sample) -> ad.CandidateGraph:
    """Return the front door: no edge from treatment to outcome."""
    del sample
    return ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0}).with_hidden("x", "y", 1.0)


def mediator_graph(sample: Sample) -> ad.CandidateGraph:
    """Return a chain from instrument to outcome, with errors of treatment and mediator correlated."""
    del sample
    edges = {("z0", "x"): 1.0, ("x", "m"): 1.0, ("m", "y"): 1.0}
    graph = ad.CandidateGraph.from_edges(edges, ["z0", "x", "m", "y"]).with_hidden("x", "m", 1.0)
    return graph.instrument("z0", "x", valid=0.9)


Graph = Callable[[Sample], ad.CandidateGraph]


def ours(sample: Sample, graph: Graph, seed: int) -> tuple[Answer, dict[str, float]]:
    """Return the median and the interval, and what else is looked at."""
    start = time.process_time()
    effect = fit(sample.table, graph(sample), rng=seed).effect("x", "y")
    low, high = effect.interval()
    seconds = time.process_time() - start
    draws = effect.draws()
    rank = float(np.mean(draws < sample.truth) + 0.5 * np.mean(draws == sample.truth))
    also = {"rank": rank, "seconds": seconds, "identified": effect.hidden.identified}
    also["no_effect"] = float(effect.probability_no_effect or 0.0)
    if math.isfinite(sample.rho):
        pair = effect.workings.models.items[0].pair("x")
        assert pair is not None
        also["second_rank"] = float(np.mean(pair.draw(999, np.random.default_rng(seed)).correlation < sample.rho))
    return (effect.median, low, high), also


# -- others ------------------------------------------------------------------------------------------------------------


def _without(columns: FloatArray, taken: FloatArray) -> FloatArray:
    """Return columns less what others, and a constant, explain of them."""
    root, _ = np.linalg.qr(np.column_stack([np.ones(len(columns)), taken]))
    return np.asarray(columns - root @ (root.T @ columns))


def least_squares(x: FloatArray, y: FloatArray, covariates: FloatArray) -> Answer:
    """Return the slope of a regression."""
    both = _without(np.column_stack([x, y]), covariates)
    slope = both[:, 0] @ both[:, 1] / (both[:, 0] @ both[:, 0])
    left = both[:, 1] - slope * both[:, 0]
    return _answer(slope, math.sqrt(left @ left / (len(x) - covariates.shape[1] - 2) / (both[:, 0] @ both[:, 0])))


def k_class(x: FloatArray, y: FloatArray, z: FloatArray, c: FloatArray, limited: bool = False) -> Answer:
    """Return two-stage least squares, or limited information maximum likelihood."""
    made = _without(np.column_stack([x, y, z]), c)
    x, y, z = made[:, 0], made[:, 1], made[:, 2:]
    root, _ = np.linalg.qr(z)
    both = np.column_stack([y, x])
    seen, whole = root.T @ both, both.T @ both
    kappa = np.linalg.eigvals(np.linalg.solve(whole - seen.T @ seen, whole)).real.min() if limited else 1.0
    xx = whole[1, 1] - kappa * (whole[1, 1] - seen[:, 1] @ seen[:, 1])
    slope = (whole[0, 1] - kappa * (whole[0, 1] - seen[:, 0] @ seen[:, 1])) / xx
    left = y - slope * x
    return _answer(slope, math.sqrt(left @ left / (len(x) - c.shape[1] - 2) / abs(xx)))


def front_door_formula(sample: Sample) -> Answer:
    """Return the product of two regressions."""
    m, nothing = sample.others["m"], np.zeros((len(sample.x), 0))
    first, second = least_squares(sample.x, m, nothing), least_squares(m, sample.y, sample.x[:, None])
    errors = [(one[2] - one[1]) / (2 * 1.96) for one in (first, second)]
    return _answer(first[0] * second[0], math.hypot(second[0] * errors[0], first[0] * errors[1]))


def prior_alone(sample: Sample, seed: int) -> Answer:
    """Return least squares with the prior of the correlation added."""
    rng = np.random.default_rng(seed)
    x, y = _without(np.column_stack([sample.x, sample.y]), sample.c).T
    slope = x @ y / (x @ x)
    ratio = math.sqrt((y - slope * x) @ (y - slope * x) / (x @ x))
    rho = 2.0 * rng.beta(2.0, 2.0, 100_000) - 1.0
    spread = ratio / math.sqrt(len(x)) * rng.standard_normal(len(rho))
    found = slope - ratio * rho / np.sqrt(1.0 - rho**2) + spread
    low, middle, high = np.quantile(found, [0.025, 0.5, 0.975])
    return float(middle), float(low), float(high)


def _answer(value: float, error: float) -> Answer:
    return float(value), float(value - 1.96 * error), float(value + 1.96 * error)


def compared(sample: Sample, seed: int) -> dict[str, Answer]:
    """Return what other methods say."""
    found = {"least squares": least_squares(sample.x, sample.y, sample.c)}
    if sample.instruments and "m" not in sample.others:
        known = sample.x, sample.y, sample.z, sample.c
        found |= {"two-stage": k_class(*known), "limited information": k_class(*known, limited=True)}
        good = np.array(sample.valid)
        if good.any() and not good.all():
            others = np.column_stack([sample.c, sample.z[:, ~good]])
            found["oracle"] = k_class(sample.x, sample.y, sample.z[:, good], others)
    elif "m" in sample.others:
        formula = k_class(sample.x, sample.y, sample.z, sample.c) if sample.instruments else front_door_formula(sample)
        found["two-stage" if sample.instruments else "front-door formula"] = formula
    else:
        found["prior alone"] = prior_alone(sample, seed)
    return found


# -- the table ---------------------------------------------------------------------------------------------------------

Make = Callable[[np.random.Generator], Sample]
_SOME, _NINE, _EIGHT = (partial(graph_of, valid=valid) for valid in ("some", 0.9, 0.8))
DESIGNS: dict[str, tuple[Make, Graph]] = {
    **{f"strong, n = {n}": (partial(strong, n=n), graph_of) for n in (50, 500, 5000)},
    **{f"strong, valid 0.9, n = {n}": (partial(strong, n=n), _NINE) for n in (50, 500)},
    **{f"concentration {mu}": (partial(weak, concentration=mu, rho=0.5), graph_of) for mu in (2, 10, 30)},
    "concentration 30, rho 0.9": (partial(weak, concentration=30, rho=0.9), graph_of),
    **{f"{k} of 8 invalid, n = {n}": (partial(invalid, n=n, count=k), _SOME) for n in (50, 500) for k in (0, 2, 5)},
    **{f"20 instruments, concentration {mu}": (partial(many, concentration=mu), graph_of) for mu in (2, 5, 20, 30)},
    "no instrument": (none, graph_of),
    "covariates in one ratio": (one_ratio_covariates, graph_of),
    "no hidden cause, probability 0.5": (absent, partial(graph_of, hidden=0.5, valid=0.9)),
    "hidden cause, probability 0.5": (partial(absent, rho=0.5), partial(graph_of, hidden=0.5, valid=0.9)),
    **{f"front door, n = {n}": (partial(front_door, n=n), front_graph) for n in (50, 500)},
    "hidden cause of treatment and mediator": (hidden_mediator, mediator_graph),
    "5 of 8 invalid in one ratio": (one_ratio, _SOME),
    "all 8 a little invalid": (all_a_little, _SOME),
    "from the prior": (from_prior, _EIGHT),
    **{
        f"edge in doubt, effect {truth}, {n} rows": (partial(in_doubt, n=n, truth=truth), partial(_SOME, edge=0.5))
        for n in (50, 500)
        for truth in SMALL
    },
    **{
        f"edge in doubt, effect {truth}, valid instruments": (
            partial(strong_in_doubt, truth=truth),
            partial(graph_of, edge=0.5),
        )
        for truth in SMALL
    },
}


def run(task: tuple[str, int]) -> list[Found]:
    """Ask all methods about one data set."""
    design, seed = task
    make, graph = DESIGNS[design]
    sample = make(np.random.default_rng([seed, sum(map(ord, design))]))
    answer, also = ours(sample, graph, seed)
    found = [Found(design, seed, "ours", *answer, sample.truth, **also)]
    return found + [Found(design, seed, name, *one, sample.truth) for name, one in compared(sample, seed).items()]


def summary(found: Sequence[Found]) -> list[str]:
    """Return median error with its standard error, coverage, and median width of one method in one design."""
    errors = np.array([abs(one.estimate - one.truth) for one in found])
    held = np.mean([one.low <= one.truth <= one.high for one in found])
    rng = np.random.default_rng(0)
    spread = np.std([np.median(rng.choice(errors, len(errors))) for _ in range(400)])
    width = np.median([one.high - one.low for one in found])
    seconds = np.nanmedian([one.seconds for one in found]) if found[0].method == "ours" else math.nan
    last = "" if math.isnan(seconds) else f"{seconds:.2f}"
    return [f"{np.median(errors):.3f} ({spread:.3f})", f"{100 * held:.1f}%", f"{width:.3f}", last]


def table(found: Sequence[Found]) -> str:
    """Return the results in Markdown."""
    rows = []
    for design in DESIGNS:
        own = [one for one in found if one.design == design]
        for method in sorted({one.method for one in own}, key=METHODS.index):
            some = [one for one in own if one.method == method]
            rows.append([design, method, str(len(some)), *summary(some)])
    return markdown(["design", "method", "sets", "median error", "covered", "median width", "CPU s"], rows)


def ranks(found: Sequence[Found]) -> str:
    """Return how flat ranks of the truth are where everything was drawn from the prior."""
    own = [one for one in found if one.design == "from the prior" and one.method == "ours"]
    lines = []
    for name, values in (("effect", [one.rank for one in own]), ("correlation", [one.second_rank for one in own])):
        counts = np.histogram(values, 10, (0.0, 1.0))[0]
        square = float(np.sum((counts - len(own) / 10) ** 2) / (len(own) / 10)) if own else math.nan
        lines.append(
            f"Ranks of the {name}: chi-square(9) {square:.1f}, p = {stats.chi2.sf(square, 9):.3f}, {len(own)} sets."
        )
    return "\n".join(lines)


def verdicts(found: Sequence[Found]) -> str:
    """Return how often there was no effect where "no effect" had a probability of about so much; in Markdown."""
    own = [one for one in found if one.design.startswith("edge in doubt") and one.method == "ours"]
    rows = []
    for kind in dict.fromkeys(one.design.split(", ")[-1] for one in own):
        some = [one for one in own if one.design.endswith(kind)]
        said, true = np.array([one.no_effect for one in some]), np.array([one.truth == 0.0 for one in some])
        for low, high in ((0.0, 1.0), (0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
            here = (said >= low) & (said <= high)
            shown = [f"{values[here].mean():.2f}" if here.any() else "" for values in (said, true)]
            rows.append([kind, f"{low} to {high}", str(int(here.sum())), *shown])
    return markdown(["half of the sets without effect", "P(no effect)", "sets", "mean of it", "share without"], rows)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sets", type=int, default=200, help="data sets of a design; from the prior, 2.5 times as many"
    )
    parser.add_argument("--first-seed", type=int, default=10_000, help="seeds below 10,000 were used for choices")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only designs whose name holds this word")
    parser.add_argument("--table", action="store_true", help="run nothing: write the table of all that was kept")
    options = parser.parse_args()
    if options.table:
        _write(keep.read(FOLDER / "districts.csv", Found))
        return
    first, sets = options.first_seed, options.sets
    seeds = {
        design: range(first, first + (5 * sets // 2 if design == "from the prior" else sets)) for design in DESIGNS
    }
    chosen = [design for design in DESIGNS if options.only in design]
    tasks: dict[Key, tuple[str, int]] = {(design, seed): (design, seed) for design in chosen for seed in seeds[design]}
    found = keep.run(FOLDER / "districts.csv", Found, run, tasks, n_jobs=options.n_jobs, digits=".5g")
    print(text_of(found))
    if not options.only:
        _write(found)


def text_of(found: Sequence[Found]) -> str:
    """Return all results in Markdown."""
    return f"{table(found)}\n\n{ranks(found)}\n\n{verdicts(found)}"


def _write(found: Sequence[Found]) -> None:
    write_text(FOLDER / "districts.md", text_of(found) + "\n")


if __name__ == "__main__":
    main()
