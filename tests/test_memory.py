"""What would not fit into memory is refused before work starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

import alldags as ad
from alldags.memory import check_memory, free_memory
from lines import fit


@pytest.fixture(scope="module")
def effect():
    study = ad.datasets.example()
    return fit(study.table, study.graph, rng=0).effect(study.treatment, study.outcome)


def test_draws_that_do_not_fit_are_refused(effect):
    message = r"1,000,000,000,000 draws need about .* GB of memory, more than the .* GB free; ask for fewer at a time"
    with pytest.raises(ad.AlldagsError, match=message):
        effect.draws(10**12)
    with pytest.raises(ad.AlldagsError, match=message):
        effect.do(1.0, draws_size=10**12)


def test_covariances_that_do_not_fit_are_refused():
    names = [f"v{i}" for i in range(300_000)]
    with pytest.raises(ad.AlldagsError, match=r"the covariances of 300,000 variables need about .* leave some out"):
        fit({name: [1.0, 2.0] for name in names}, ad.CandidateGraph(tuple(names), {}))


LIMITED = """
import resource, sys
from alldags.memory import check_memory, free_memory
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, resource.RLIM_INFINITY))
print(2**28 >= free_memory() > 0)
try:
    check_memory(2**27, "a gigabyte", "take less")
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of address space that the system tells of")
def test_limits_of_the_process_count():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "True"
    assert second.startswith("a gigabyte need about 1.1 GB of memory, more than the 0.")
    assert second.endswith(" GB free; take less")


def test_what_fits_is_not_refused():
    check_memory(2**24, "a little", "take less")
    assert free_memory() > 0
