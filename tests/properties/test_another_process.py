"""The same seed gives the same numbers in another process, whatever Python's own hashing does there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import alldags as ad
from lines import fit

SCRIPT = """
import json, sys
import alldags as ad

study = ad.datasets.example()
numbers = []
for engine in json.loads(sys.argv[1]):
    effect = ad.fit(study.table, study.graph, rng=5, engine=engine).effect("smoking", "risk")
    numbers += [effect.mean, effect.sd, *effect.interval(), *effect.draws(5), effect.probability.positive]
open_order = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
effect = ad.fit(study.table, open_order, rng=5).effect("smoking", "risk")
numbers += [effect.mean, effect.sd, *effect.interval()]
print(json.dumps(numbers))
"""
ENGINES = ("exact", "mcmc")


def numbers(hash_seed: str) -> list[float]:
    command = [sys.executable, "-c", SCRIPT, json.dumps(ENGINES)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def test_same_seed_in_another_process():
    study = ad.datasets.example()
    expected = []
    for engine in ENGINES:
        effect = fit(study.table, study.graph, rng=5, engine=engine).effect("smoking", "risk")
        expected += [effect.mean, effect.sd, *effect.interval(), *effect.draws(5), effect.probability.positive]
    open_order = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
    effect = fit(study.table, open_order, rng=5).effect("smoking", "risk")
    expected += [effect.mean, effect.sd, *effect.interval()]
    assert numbers("1") == expected
