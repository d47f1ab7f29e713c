"""What a change may cost: ``python -m benchmarks.budget --base FOLDER`` compares with an older checkout, in one run.

Each row is timed in processes of its own, this checkout and the other one in turn, CPU seconds, the best of several. A
row that takes more than 1.05 times as long as before is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 1.05
_START = """
import json, sys, time, warnings
import numpy as np
import alldags as ad
warnings.simplefilter("ignore")
study = ad.datasets.example()
rng = np.random.default_rng(0)
x = rng.standard_normal((500, 20))
wide = {f"x{i}": x[:, i] for i in range(20)} | {"y": x[:, :4].sum(axis=1) + rng.standard_normal(500)}
many = ad.CandidateGraph.from_edges({(f"x{i}", "y"): 0.5 for i in range(20)})
z, t = rng.standard_normal(1000), (rng.random(1000) < 0.5) * 1.0
risk = {"z": z, "t": t, "y": (rng.random(1000) < 1 / (1 + np.exp(1 - z - t))) * 1.0}
order = ad.CandidateGraph.from_tiers([["z"], ["t"], ["y"]], 0.5)
def job():
    {body}
job()
times = []
for _ in range({repeats}):
    begin = time.process_time(); job(); times.append(time.process_time() - begin)
print(json.dumps(min(times)))
"""
_LINES = "ad.fit(study.table, study.graph, rng=0, terms=None).effect('smoking', 'risk')"
_WIDE = "ad.fit(wide, many, rng=0, engine='exact', terms=None).effect('x0', 'y')"
ROWS = {
    "example, lines, mean and sd": (f"e = {_LINES}; e.mean; e.sd", 15),
    "example, lines, interval": (f"{_LINES}.interval()", 10),
    "example, lines, printed": (f"str({_LINES})", 5),
    "example, default, printed": ("str(ad.fit(study.table, study.graph, rng=0).effect('smoking', 'risk'))", 2),
    "20 candidates exactly": (f"e = {_WIDE}; e.mean; e.sd", 5),
    "yes/no, lines, printed": ("str(ad.fit(risk, order, rng=0, terms=None).effect('t', 'y'))", 4),
    "yes/no, default, printed": ("str(ad.fit(risk, order, rng=0).effect('t', 'y'))", 2),
    "curves through mediators": (
        "e = ad.fit(study.table, study.graph, rng=0, terms='auto').effect('smoking', 'risk'); e.mean; e.interval()", 2,
    ),
}  # fmt: skip


def timed(source: Path, body: str, repeats: int) -> float:
    """Return the CPU seconds of one row in a checkout."""
    code = _START.replace("{body}", body).replace("{repeats}", str(repeats))
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(found.stdout.splitlines()[-1]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(f"{'':28}{'before':>9}{'now':>9}{'ratio':>8}")
    for name, (body, repeats) in ROWS.items():
        before, now = [], []
        for _ in range(given.rounds):
            before.append(timed(given.base, body, repeats))
            now.append(timed(ROOT, body, repeats))
        ratio = min(now) / min(before)
        print(f"{name:28}{min(before):9.3f}{min(now):9.3f}{ratio:8.2f}{'  above ' + str(MOST) if ratio > MOST else ''}")


if __name__ == "__main__":
    main()
