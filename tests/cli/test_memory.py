"""Too little memory even to load packages is one line, too."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy":
            raise ImportError("libscipy_openblas.so: failed to map segment from shared object")
sys.meta_path.insert(0, Finder())
from alldags.__main__ import main
sys.argv = ["alldags", "demo"]
main()
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_libraries_that_do_not_fit_into_memory():
    done = run(CODE)
    assert done.returncode == 2
    assert done.stderr.startswith("alldags: out of memory; use fewer rows")
    assert done.stderr.count("\n") == 1
