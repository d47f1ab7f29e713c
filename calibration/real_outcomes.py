"""``python -m calibration.real_outcomes [names]``: yes/no outcomes of published studies, by risks and straight lines.

LaLonde (1986): did trainees of the programme NSW work in 1978? In the experiment, and with controls from the survey
PSID in place of the experiment's (files of Dehejia and Wahba, folder ``lalonde``). Twins: death in the first year, of
pairs of twins one of which was hidden by a simulated, confounded choice (folder ``twins``). Data are not bundled: the
folder is named by ALLDAGS_DATA.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

import alldags as ad
from alldags.files import write_text
from calibration.keep import FOLDER
from calibration.lines import fit

DATA = Path(os.environ.get("ALLDAGS_DATA", "data"))


def experiment() -> tuple[pd.DataFrame, str, str, float | None]:
    """Return the experiment, 445 rows, with the raw difference as benchmark."""
    table = _worked(pd.read_stata(DATA / "lalonde" / "nsw_dw.dta"))
    groups = table.groupby("treat")["worked"].mean()
    return table, "treat", "worked", float(groups[1.0] - groups[0.0])


def survey() -> tuple[pd.DataFrame, str, str, float | None]:
    """Return the trainees with controls from the survey, 2,675 rows; benchmark: the experiment."""
    trained = pd.read_stata(DATA / "lalonde" / "nsw_dw.dta").query("treat == 1")
    controls = pd.read_stata(DATA / "lalonde" / "psid_controls.dta")
    return _worked(pd.concat([trained, controls], ignore_index=True)), "treat", "worked", experiment()[3]


def _worked(table: pd.DataFrame) -> pd.DataFrame:
    columns = table.drop(columns=["data_id", "re78"]).astype(float)
    return columns.assign(worked=(table["re78"] > 0).astype(float))


def twins() -> tuple[pd.DataFrame, str, str, float | None]:
    """Return the twins, 8,215 rows and 48 candidate causes of death; benchmark: both outcomes of every pair."""
    table = pd.read_csv(DATA / "twins" / "twins.csv.gz")
    truth = float((table["mu_1"] - table["mu_0"]).mean())
    known = ["sample_id", "y_cf", "mu_0", "mu_1", "infant_id_0", "infant_id_1", "bord_0", "bord_1", "data_year"]
    table = table.drop(columns=known)
    table = table.loc[:, table.nunique() > 1].astype(float)
    return table.rename(columns={"t": "heavier", "y": "death"}), "heavier", "death", truth


STUDIES = {"experiment": experiment, "survey": survey, "twins": twins}
TITLES = {
    "experiment": "NSW experiment, worked in 1978",
    "survey": "NSW trainees, survey controls",
    "twins": "Twins, death in the first year",
}


def question(table: pd.DataFrame, treatment: str, outcome: str, **options: Any) -> ad.Effect:
    """Fit with every covariate a candidate cause of treatment and outcome, and a certain effect."""
    covariates = [name for name in table.columns if name not in (treatment, outcome)]
    graph = ad.CandidateGraph.from_tiers([covariates, [treatment], [outcome]], 0.5).with_edge(treatment, outcome, 1.0)
    return fit(table, graph, rng=0, **options).effect(treatment, outcome)


def row(name: str) -> str:
    """Return one line of the table."""
    table, treatment, outcome, benchmark = STUDIES[name]()
    start = time.process_time()
    effect = question(table, treatment, outcome)
    text = str(effect)
    seconds = time.process_time() - start
    print(text, end="\n\n")
    straight = question(table, treatment, outcome, families="normal")
    answers = [
        f"{item.mean:.3f} ({low:.3f} to {high:.3f})" for item in (straight, effect) for low, high in [item.interval()]
    ]
    rows = f"{len(table):,}"
    return f"| {TITLES[name]} | {rows} | {' | '.join(answers)} | {benchmark:.3f} | {seconds:.1f} |"


def main() -> None:
    """Print the answers and write the table."""
    names = sys.argv[1:] or list(STUDIES)
    lines = [
        "| study | rows | straight lines | risks | benchmark | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row(name) for name in names),
    ]
    print("\n".join(lines))
    if names == list(STUDIES):
        write_text(FOLDER / "real_outcomes.md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
