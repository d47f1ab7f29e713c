"""Public data with a known average treatment effect: IHDP and LBIDD. Nothing is bundled; see `find_file`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from alldags.data.moments import Moments
from alldags.errors import DataError, did_you_mean, require
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray, IntArray

ENVIRONMENT = "ALLDAGS_DATA"
_IHDP_FILE, _LBIDD_FILE = "ihdp/ihdp_npci_1-1000.npz", "lbidd/lbidd_n1000.npz"
TREATMENT, OUTCOME = "treatment", "outcome"

IHDP_COLUMNS = (
    *("bw", "b.head", "preterm", "birth.o", "nnhealth", "momage"),
    *("sex", "twin", "b.marr", "mom.lths", "mom.hs", "mom.scoll", "cig", "first", "booze", "drugs", "work.dur"),
    *("prenatal", "ark", "ein", "har", "mia", "pen", "tex", "was"),
)

LBIDD_SETS = (
    "30fdfdf9847b4b03ae6dfa0009655fb6",
    "a3c4c668a3f84ba3ac42bf78c3ca35b1",
    "00ea30e866f141d9880d5824a361a76a",
    "2fd4b7c574be477aadc095786d8dec24",
    "851a503c9dfd48b588edd24f80dfc8b7",
    "32be2325ea7148128c87bfc54eebd64c",
    "53166055ae024c2ca3959859dffdfaa2",
    "d09f96200455407db569ae33fe06b0d3",
    "ea8ec4f5364049a19cb6cf92df0e2593",
    "629e3d2c63914e45b227cc913c09cebe",
)


@dataclass(frozen=True, eq=False)
class TreatmentData:
    """A binary treatment, an outcome, covariates, and both potential outcomes of every row.

    Parameters
    ----------
    name
        Which data set this is.
    covariates
        Shape (n, k).
    treatment
        Zeros and ones, shape (n,).
    outcome
        The observed outcome, shape (n,).
    outcome0, outcome1
        The potential outcomes without and with treatment, shape (n,).
    mean0, mean1
        Their expectations where they are published, shape (n,), else None.
    columns
        Names of the covariates, k of them.
    """

    name: str
    covariates: FloatArray
    treatment: FloatArray
    outcome: FloatArray
    outcome0: FloatArray
    outcome1: FloatArray
    mean0: FloatArray | None
    mean1: FloatArray | None
    columns: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.outcome)

    @property
    def effect(self) -> float:
        """The average treatment effect in the sample, ``mean(y1 - y0)``, the paper's true value."""
        return float(np.mean(self.outcome1 - self.outcome0))

    @property
    def effect_of_means(self) -> float | None:
        """The same without outcome noise, ``mean(mu1 - mu0)``, where the means are published."""
        if self.mean0 is None or self.mean1 is None:
            return None
        return float(np.mean(self.mean1 - self.mean0))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the covariates, ``"treatment"`` and ``"outcome"``."""
        return (*self.columns, TREATMENT, OUTCOME)

    def graph(self, probability: float = 0.5) -> CandidateGraph:
        """Return the candidate graph of the paper's Figure 5: covariates -> treatment -> outcome <- covariates."""
        return CandidateGraph.from_tiers([self.columns, [TREATMENT], [OUTCOME]], probability)

    def array(self) -> FloatArray:
        """Return covariates, treatment and outcome side by side, shape (n, k + 2), columns as in `names`."""
        return np.column_stack([self.covariates, self.treatment, self.outcome])

    def moments(self) -> Moments:
        """Return the moments of `array`, ready for `alldags.fit`."""
        return Moments.from_table(self.array(), names=self.names)

    def to_pandas(self) -> Any:
        """Return `array` as a pandas frame."""
        pandas: Any = require("pandas", "experiments")
        return pandas.DataFrame(self.array(), columns=list(self.names))

    def take(self, rows: Sequence[int] | IntArray) -> TreatmentData:
        """Return these rows; `effect` is then the average over these rows only."""
        index = np.asarray(rows)
        fields = ("covariates", "treatment", "outcome", "outcome0", "outcome1", "mean0", "mean1")
        parts = {field: getattr(self, field) for field in fields}
        taken: dict[str, Any] = {field: None if part is None else part[index] for field, part in parts.items()}
        return replace(self, **taken)


# -- finding the files -----------------------------------------------------------------------------------------------


def find_file(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a public file: from a local folder, else downloaded once and checked.

    Parameters
    ----------
    name
        Path inside the data folder, for example ``"ihdp/ihdp_npci_1.csv"``.
    folder
        The local folder; by default the environment variable ``ALLDAGS_DATA``. If it is not set, the file is
        downloaded to the user's cache by pooch, which checks its SHA-256.
    """
    local = _local_folder(folder)
    if local is None:
        return _download(name)
    path = local / name
    if not path.is_file():
        raise DataError(f"there is no file {name!r} in {str(local)!r}; {_advice(name)}")
    return path


def _local_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    chosen = os.environ.get(ENVIRONMENT) if folder is None else folder
    if not chosen:
        return None
    path = Path(chosen)
    if not path.is_dir():
        raise DataError(f"the data folder {str(path)!r} does not exist; set {ENVIRONMENT} to the folder with the files")
    return path


def _download(name: str) -> Path:
    registry = _registry()
    if name not in registry:
        raise DataError(f"{name!r} is not published as a single file that can be downloaded; {_advice(name)}")
    pooch: Any = require("pooch", "experiments")
    checksum, address = registry[name]
    cache = Path(os.environ.get("ALLDAGS_CACHE") or pooch.os_cache("alldags"))
    try:
        found = pooch.retrieve(address, f"sha256:{checksum}", fname=Path(name).name, path=cache / Path(name).parent)
    except (OSError, ValueError) as error:
        raise DataError(f"could not download {name!r} ({error}); {_advice(name)}") from error
    return Path(found)


@lru_cache(maxsize=1)
def _registry() -> dict[str, tuple[str, str]]:
    """Return ``{name: (SHA-256, address)}`` of every file that can be downloaded."""
    lines = (files("alldags.datasets") / "checksums.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: (checksum, address) for name, checksum, address in rows}


def _advice(name: str) -> str:
    source = _registry().get(name)
    if source is not None:
        return f"get it from {source[1]} and set {ENVIRONMENT} to the folder that contains {name!r}"
    origin = {
        "ihdp": "replications 1 to 50 can be downloaded; 51 to 1000 come from the simulation of the repository "
        "vdorie/npci on GitHub (setting A) and are read from ihdp/ihdp_npci_1-1000.npz",
        "lbidd": "the complete collection is on Synapse (syn11738963); this set is read from lbidd/lbidd_n1000.npz",
        "acic2016": "x.csv and zymu_1.csv to zymu_5.csv are in causallib/datasets/data/acic_challenge_2016 of the "
        "repository BiomedSciAI/causallib on GitHub",
        "sachs": "it is made from the files in real/sachs of the repository cmu-phil/example-causal-datasets on "
        "GitHub: one row per cell, with the columns condition and target",
        "twins": "it is made from the twin births of Louizos et al. (2017) and read from twins/twins.csv.gz",
    }.get(name.partition("/")[0], "it is read from a local folder only")
    return f"{origin}; set {ENVIRONMENT} to a folder that contains it"


def _local_file(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    local = _local_folder(folder)
    return local / name if local is not None and (local / name).is_file() else None


@lru_cache(maxsize=2)
def _load_npz(path: Path) -> dict[str, Any]:
    with np.load(path) as archive:
        return {key: archive[key] for key in archive.files}


# -- IHDP ------------------------------------------------------------------------------------------------------------


def ihdp(replication: int = 1, folder: str | os.PathLike[str] | None = None) -> TreatmentData:
    """Load one replication of the Infant Health and Development Program data (Hill 2011, response surface B).

    747 children, 25 covariates, simulated outcome. All 1,000 replications are read from
    ``ihdp/ihdp_npci_1-1000.npz`` in the local folder; 1 to 50 are also single public files, which are downloaded.

    Parameters
    ----------
    replication
        1 to 1000. Covariates and treatment are the same in all, outcomes differ.
    folder
        Local data folder; by default the environment variable ``ALLDAGS_DATA``, else download.

    Examples
    --------
    >>> import alldags as ad
    >>> data = ad.datasets.ihdp(1)  # doctest: +SKIP
    >>> data.n, round(data.effect, 2)  # doctest: +SKIP
    (747, 4.03)
    """
    if not 1 <= replication <= 1000:
        raise DataError(f"IHDP has replications 1 to 1000, got {replication}")
    together = _local_file(_IHDP_FILE, folder)
    if together is not None:
        return _ihdp_from_npz(_load_npz(together), replication)
    return _ihdp_from_csv(find_file(f"ihdp/ihdp_npci_{replication}.csv", folder), replication)


def ihdp_replications(folder: str | os.PathLike[str] | None = None) -> int:
    """Return how many replications `ihdp` can load: 1,000 with the local file, else the 50 that can be downloaded."""
    return 1000 if _local_file(_IHDP_FILE, folder) is not None else 50


def _ihdp_from_npz(arrays: dict[str, Any], replication: int) -> TreatmentData:
    treatment = arrays["t"].astype(float)
    column = {key: arrays[key][:, replication - 1].astype(float) for key in ("yf", "ycf", "mu0", "mu1")}
    return _ihdp(replication, arrays["x"], treatment, column["yf"], column["ycf"], column["mu0"], column["mu1"])


def _ihdp_from_csv(path: Path, replication: int) -> TreatmentData:
    table = np.loadtxt(path, delimiter=",")
    if table.shape[1:] != (5 + len(IHDP_COLUMNS),):
        raise DataError(f"{str(path)!r} must have {5 + len(IHDP_COLUMNS)} columns, it has shape {table.shape}")
    treatment, factual, counterfactual, mean0, mean1 = table[:, :5].T
    return _ihdp(replication, table[:, 5:], treatment, factual, counterfactual, mean0, mean1)


def _ihdp(
    replication: int,
    covariates: FloatArray,
    treatment: FloatArray,
    factual: FloatArray,
    counterfactual: FloatArray,
    mean0: FloatArray,
    mean1: FloatArray,
) -> TreatmentData:
    treated = treatment > 0
    return TreatmentData(
        name=f"IHDP {replication}",
        covariates=covariates,
        treatment=treatment,
        outcome=factual,
        outcome0=np.where(treated, counterfactual, factual),
        outcome1=np.where(treated, factual, counterfactual),
        mean0=mean0,
        mean1=mean1,
        columns=IHDP_COLUMNS,
    )


# -- LBIDD -----------------------------------------------------------------------------------------------------------


def lbidd(name: str = "a3c4c668", folder: str | os.PathLike[str] | None = None) -> TreatmentData:
    """Load one of the ten public sets with 1,000 rows of the Linked Births and Infant Deaths Data (ACIC 2018).

    177 covariates, many of them recodings of one another; simulated treatment and outcome. Use is restricted to
    statistical reporting and analysis by the terms of the National Center for Health Statistics.

    Parameters
    ----------
    name
        The set's identifier, one of `LBIDD_SETS`, or its first letters.
    folder
        Local data folder; by default the environment variable ``ALLDAGS_DATA``, else download (nine of the ten).

    Examples
    --------
    >>> import alldags as ad
    >>> ad.datasets.lbidd("a3c4c668").covariates.shape  # doctest: +SKIP
    (1000, 177)
    """
    identifier = _complete(name)
    together = _local_file(_LBIDD_FILE, folder)
    if together is not None:
        return _lbidd_from_npz(_load_npz(together), identifier)
    return _lbidd_from_csv(identifier, folder)


def lbidd_sets(folder: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Return the sets `lbidd` can load: all ten with the local file, else the nine that can be downloaded."""
    if _local_file(_LBIDD_FILE, folder) is not None:
        return LBIDD_SETS
    return tuple(name for name in LBIDD_SETS if f"lbidd/scaling_n1000/{name}.csv" in _registry())


def _complete(name: str) -> str:
    found = [identifier for identifier in LBIDD_SETS if name and identifier.startswith(name)]
    if len(found) != 1:
        problem = "is not" if not found else "is the beginning of more than"
        hint = did_you_mean(name, LBIDD_SETS)
        raise DataError(f"{name!r} {problem} one of the LBIDD sets {[s[:8] for s in LBIDD_SETS]}{hint}")
    return found[0]


def _lbidd_from_npz(arrays: dict[str, Any], identifier: str) -> TreatmentData:
    (row,) = np.flatnonzero(arrays["ufid"].astype(str) == identifier)
    columns = tuple(arrays["columns"].astype(str).tolist())
    return _lbidd(identifier, arrays["x"][row], arrays["z"][row], arrays["y0"][row], arrays["y1"][row], columns)


def _lbidd_from_csv(identifier: str, folder: str | os.PathLike[str] | None) -> TreatmentData:
    pandas: Any = require("pandas", "experiments")
    require("pyarrow", "experiments")
    factual = pandas.read_csv(find_file(f"lbidd/scaling_n1000/{identifier}.csv", folder), index_col="sample_id")
    both = pandas.read_csv(find_file(f"lbidd/scaling_n1000/{identifier}_cf.csv", folder), index_col="sample_id")
    covariates = pandas.read_parquet(find_file("lbidd/covariates.parquet", folder)).set_index("sample_id")
    x = covariates.loc[factual.index]
    both = both.loc[factual.index]
    columns = tuple(map(str, x.columns))
    x, z, y0, y1 = (part.to_numpy(dtype=float) for part in (x, factual["z"], both["y0"], both["y1"]))
    return _lbidd(identifier, x, z, y0, y1, columns)


def _lbidd(
    identifier: str,
    covariates: FloatArray,
    treatment: FloatArray,
    outcome0: FloatArray,
    outcome1: FloatArray,
    columns: tuple[str, ...],
) -> TreatmentData:
    return TreatmentData(
        name=f"LBIDD {identifier[:8]}",
        covariates=covariates.astype(float),
        treatment=treatment.astype(float),
        outcome=np.where(treatment > 0, outcome1, outcome0),
        outcome0=outcome0.astype(float),
        outcome1=outcome1.astype(float),
        mean0=None,
        mean1=None,
        columns=columns,
    )
