"""``python -m calibration.robust [--sets 300] [--only WORD]``: do 95% intervals hold where the assumptions do not?

The truth is not drawn from any prior. Five covariates, of which three drive both treatment and outcome, and one effect;
then one assumption after the other is broken. The table says where intervals hold and where they do not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from zlib import crc32

import numpy as np
from scipy import stats
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown
from calibration.lines import fit

EFFECT = 0.5
ON_TREATMENT = np.array([0.5, 0.4, -0.3, 0.4, 0.0])
ON_OUTCOME = np.array([0.5, -0.4, 0.3, 0.0, 0.4])
NAMES = tuple(f"c{i}" for i in range(5))
SHARE = 0.2  # of what is left of treatment and outcome that the hidden cause explains
Table = dict[str, FloatArray]
Noise = Callable[[FloatArray, np.random.Generator], FloatArray]


@dataclass(frozen=True, eq=False)
class Sample:
    """A table and the true effect; `covariates` are the candidate confounders."""

    table: Table
    truth: float
    covariates: tuple[str, ...] = NAMES

    @property
    def graph(self) -> ad.CandidateGraph:
        """Covariates may act on treatment and outcome, the treatment on the outcome; nothing is certain."""
        return ad.CandidateGraph.from_tiers([self.covariates, ["x"], ["y"]], 0.5)


@dataclass(frozen=True)
class Design:
    """What is broken, how tables are made, and in which ways the question is asked (see `WAYS`).

    `share` is the share of the data sets that it gets.
    """

    key: str
    make: Callable[[np.random.Generator], Sample]
    ways: tuple[str, ...] = ("default",)
    share: float = 1.0


# -- noise -----------------------------------------------------------------------------------------------------------


def normal(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what the model assumes; all noise has variance one unless it says otherwise."""
    return rng.standard_normal(len(x))


def student(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise with three degrees of freedom."""
    return np.asarray(rng.standard_t(3, len(x)) / np.sqrt(3.0))


def contaminated(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise that is ten times as large in one row of twenty."""
    return np.asarray(rng.standard_normal(len(x)) * np.where(rng.random(len(x)) < 0.05, 10.0, 1.0))


def skewed(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return exponential noise."""
    return np.asarray(rng.exponential(1.0, len(x)) - 1.0)


def uneven(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise that grows with the distance of the treatment from its mean."""
    return np.asarray(rng.standard_normal(len(x)) * np.sqrt(0.2 + 0.8 * (x - x.mean()) ** 2 / x.var()))


# -- tables ----------------------------------------------------------------------------------------------------------


def straight(
    rng: np.random.Generator, rows: int = 300, noise: Noise = normal, early: Noise = normal, effect: float = EFFECT
) -> Sample:
    """Make straight lines with any noise."""
    c = rng.standard_normal((rows, len(NAMES)))
    x = c @ ON_TREATMENT + early(c[:, 0], rng)
    y = effect * x + c @ ON_OUTCOME + noise(x, rng)
    return Sample(dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}, effect)


def many_covariates(rng: np.random.Generator, count: int, size: float, rows: int) -> Sample:
    """Make covariates that are all weak confounders."""
    c = rng.standard_normal((rows, count))
    x = size * c.sum(axis=1) + rng.standard_normal(rows)
    y = EFFECT * x + size * c.sum(axis=1) + rng.standard_normal(rows)
    names = tuple(f"c{i}" for i in range(count))
    return Sample(dict(zip(names, c.T, strict=True)) | {"x": x, "y": y}, EFFECT, names)


def copies(rng: np.random.Generator, noise: float) -> Sample:
    """Make every confounder twice, the second time with a little noise."""
    sample = straight(rng)
    twins = {f"{name}b": sample.table[name] + noise * rng.standard_normal(300) for name in NAMES[:3]}
    return Sample(sample.table | twins, EFFECT, (*NAMES, *twins))


def outlier(rng: np.random.Generator) -> Sample:
    """Make one row that is far off."""
    sample = straight(rng)
    sample.table["y"][0] += 30.0
    return sample


def bent_confounder(rng: np.random.Generator, rows: int = 300) -> Sample:
    """Make a confounder that acts by its square."""
    sample = straight(rng, rows)
    bend = 0.7 * (sample.table["c0"] ** 2 - 1.0)
    table = dict(sample.table)
    table["x"] = table["x"] + bend
    table["y"] = table["y"] + (EFFECT + 1.0) * bend
    return Sample(table, EFFECT)


def bent_treatment(rng: np.random.Generator, rows: int = 300) -> Sample:
    """Make an effect that levels off; the truth is that of one unit more, averaged over the rows."""
    sample = straight(rng, rows, effect=0.0)
    x = sample.table["x"]
    table = sample.table | {"y": sample.table["y"] + _saturating(x)}
    return Sample(table, float(np.mean(_saturating(x + 1.0) - _saturating(x))))


def _saturating(x: FloatArray) -> FloatArray:
    return np.asarray(1.5 * expit(2.0 * x))


def differing(rng: np.random.Generator, rows: int = 300) -> Sample:
    """Make a 0/1 treatment whose effect differs with what drives it; the truth is the average over the rows."""
    c = rng.standard_normal((rows, len(NAMES)))
    x = (rng.random(rows) < expit(1.5 * c @ ON_TREATMENT)).astype(float)
    each = EFFECT + 0.8 * c[:, 0]
    y = each * x + c @ ON_OUTCOME + rng.standard_normal(rows)
    return Sample(dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}, float(each.mean()))


def rare(rng: np.random.Generator, rate: float, rows: int) -> Sample:
    """Make a yes/no outcome that is rare; the truth is the difference of risk in the table's rows."""
    c = rng.standard_normal((rows, len(NAMES)))
    x = (rng.random(rows) < expit(c @ ON_TREATMENT)).astype(float)
    eta = _intercept(rate) + c @ ON_OUTCOME
    y = (rng.random(rows) < expit(eta + 0.8 * x)).astype(float)
    truth = float(np.mean(expit(eta + 0.8) - expit(eta)))
    return Sample(dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}, truth)


@cache
def _intercept(rate: float) -> float:
    """Return the log-odds at which so many outcomes are yes."""
    rng = np.random.default_rng(99)
    c = rng.standard_normal((200_000, len(NAMES)))
    x = rng.random(200_000) < expit(c @ ON_TREATMENT)
    low, high = -15.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        too_few = expit(middle + c @ ON_OUTCOME + 0.8 * x).mean() < rate
        low, high = (middle, high) if too_few else (low, middle)
    return middle


def hidden(rng: np.random.Generator) -> Sample:
    """Make a hidden cause that explains a fifth of what is left of treatment and outcome."""
    cause = rng.standard_normal(300)
    load = np.sqrt(SHARE)

    def noise(x: FloatArray, stream: np.random.Generator) -> FloatArray:
        return np.asarray(load * cause + np.sqrt(1 - SHARE) * stream.standard_normal(len(x)))

    return straight(rng, noise=noise, early=noise)


# -- ways to ask -----------------------------------------------------------------------------------------------------

Answer = tuple[float, float, float]


def _asked(sample: Sample, seed: int, **options: Any) -> Answer:
    effect = fit(sample.table, sample.graph, rng=seed, **options).effect("x", "y")
    return effect.mean, *effect.interval(0.95)


def _certain(sample: Sample, seed: int) -> Answer:
    """Return the answer if it is known that there is an effect."""
    effect = fit(sample.table, sample.graph.with_edge("x", "y", 1.0), rng=seed).effect("x", "y")
    return effect.mean, *effect.interval(0.95)


def _resampled(sample: Sample, seed: int) -> Answer:
    """Return the answer with every row a cluster of its own, so that its spread is that of resampled rows."""
    return _asked(sample, seed, cluster=np.arange(len(sample.table["y"])))


def _least_squares(sample: Sample, seed: int) -> Answer:
    found = fit(sample.table, sample.graph, rng=seed, families="normal").effect("x", "y").checks.least_squares
    assert found is not None
    return found.estimate, found.low, found.high


def _allowed(sample: Sample, seed: int) -> Answer:
    """Return the answer that allows for a hidden cause of up to twice the true strength."""
    effect = fit(sample.table, sample.graph, rng=seed).effect("x", "y")
    found = effect.sensitivity().given(ad.Strength((0.0, 2 * SHARE), (0.0, 2 * SHARE), sign="positive"))
    return found.mean, found.low, found.high


WAYS: dict[str, Callable[[Sample, int], Answer]] = {
    "default": _asked,
    "terms='auto'": partial(_asked, terms="auto"),
    "straight lines": partial(_asked, families="normal"),
    "Student noise said": partial(_asked, families={"y": "student"}),
    "edge certain": _certain,
    "cluster= each row": _resampled,
    "hidden cause allowed for": _allowed,
    "least squares": _least_squares,
}
BOTH = ("default", "least squares")
HEAVY = ("default", "Student noise said", "least squares")
UNEVEN = ("default", "cluster= each row", "least squares")
RARE = ("default", "edge certain", "straight lines")
SMALL = ("default", "edge certain", "least squares")
CURVES = ("default", "terms='auto'")

DESIGNS = (
    Design("nothing broken, 300 rows", straight, BOTH),
    Design("nothing broken, 50 rows", partial(straight, rows=50), SMALL),
    Design("no effect, 300 rows", partial(straight, effect=0.0), BOTH),
    Design("20 weak confounders (0.1), 300 rows", partial(many_covariates, count=20, size=0.1, rows=300), BOTH),
    Design("40 weak confounders (0.1), 100 rows", partial(many_covariates, count=40, size=0.1, rows=100), BOTH),
    Design("Student noise, 3 degrees", partial(straight, noise=student, early=student), HEAVY),
    Design("one row of 20 with noise 10 times as large", partial(straight, noise=contaminated), HEAVY),
    Design("one row off by 30 standard deviations", outlier, HEAVY),
    Design("exponential noise", partial(straight, noise=skewed, early=skewed), BOTH),
    Design(
        "exponential noise, 50 rows",
        partial(straight, rows=50, noise=skewed, early=skewed),
        SMALL,
    ),
    Design(
        "noise grows with the treatment",
        partial(straight, noise=uneven),
        ("default", "cluster= each row", "least squares"),
    ),
    Design("confounders twice, correlation 0.995", partial(copies, noise=0.1), BOTH),
    Design("confounders twice, the same numbers", partial(copies, noise=0.0)),
    Design("a confounder acts by its square", bent_confounder, CURVES, 0.5),
    Design("the effect levels off", bent_treatment, CURVES, 0.5),
    Design("the effect of a 0/1 treatment differs", differing, CURVES, 0.5),
    Design("yes/no outcome, 5%, 500 rows", partial(rare, rate=0.05, rows=500), RARE),
    Design("yes/no outcome, 2%, 500 rows", partial(rare, rate=0.02, rows=500), RARE),
    Design("yes/no outcome, 2%, 2,000 rows", partial(rare, rate=0.02, rows=2000), RARE),
    Design("a hidden cause", hidden, ("default", "hidden cause allowed for", "least squares")),
)


@dataclass(frozen=True)
class Found:
    """One answer to one data set, with its 95% interval."""

    design: str
    seed: int
    asked: str
    truth: float
    estimate: float
    low: float
    high: float


def run(task: tuple[int, int]) -> list[Found]:
    """Return all answers to one data set; none if a rare outcome happens in fewer than two rows."""
    design, seed = DESIGNS[task[0]], task[1]
    (stream,) = np.random.default_rng([crc32(design.key.encode()), seed]).spawn(1)
    sample = design.make(stream)
    if min(np.unique(sample.table["y"], return_counts=True)[1].min(), 2) < 2 and "yes/no" in design.key:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        return [Found(design.key, seed, way, sample.truth, *WAYS[way](sample, seed)) for way in design.ways]


def table(found: Sequence[Found]) -> str:
    """Return bias, error, coverage and width of every design and way to ask, in Markdown."""
    rows = []
    for design in DESIGNS:
        for way in design.ways:
            mine = [item for item in found if (item.design, item.asked) == (design.key, way)]
            if mine:
                rows.append([design.key, way, *_cells(mine)])
    return markdown(["what is broken", "asked", "sets", "bias", "error", "covered", "width", "do they hold?"], rows)


def _cells(items: Sequence[Found]) -> list[str]:
    error = np.array([item.estimate - item.truth for item in items])
    held = [item.low <= item.truth <= item.high for item in items]
    width = np.mean([item.high - item.low for item in items])
    doubt = error.std(ddof=1) / np.sqrt(len(error))
    return [
        str(len(items)),
        f"{error.mean():+.3f} ± {doubt:.3f}",
        f"{np.sqrt(np.mean(error**2)):.3f}",
        f"{np.mean(held):.3f}",
        f"{width:.3f}",
        verdict(sum(held), len(held)),
    ]


def verdict(held: int, sets: int) -> str:
    """Say in words whether 95% intervals hold, as far as so many data sets can tell.

    Examples
    --------
    >>> from calibration.robust import verdict
    >>> verdict(285, 300), verdict(273, 300), verdict(200, 300)
    ('yes', 'almost', 'no')
    """
    if stats.binomtest(held, sets, 0.95, alternative="less").pvalue > 0.05:
        return "yes"
    return "almost" if held >= 0.9 * sets else "no"


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    words = "data sets of a design, of slow ones half as many; 0: table only"
    parser.add_argument("--sets", type=int, default=300, help=words)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only designs whose name holds this word")
    options = parser.parse_args()
    tasks: dict[Key, tuple[int, int]] = {
        (design.key, seed): (i, seed)
        for seed in range(options.sets)
        for i, design in enumerate(DESIGNS)
        if options.only in design.key and seed < design.share * options.sets
    }
    keep.run(FOLDER / "robust.csv", Found, run, tasks, n_jobs=options.n_jobs, digits=".5g")
    text = table(keep.read(FOLDER / "robust.csv", Found))
    print(text)
    if not options.only:
        write_text(FOLDER / "robust.md", text + "\n")


if __name__ == "__main__":
    main()
