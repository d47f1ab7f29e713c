"""Machine code on disk: never older than any file it was made from, and kept somewhere whatever can be written to.

Each test makes a small package of two files around a copy of `jit.py`, and uses it in processes of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alldags.kernels import jit

CALLED = "from small.jit import inner\n\n@inner\ndef called(x):\n    return x + {number}\n"
CALLING = (
    "from small.called import called\nfrom small.jit import compiled\n\n@compiled\ndef calling(x):\n"
    "    return called(x)\n"
)
ASK = "from small.calling import calling; print(calling(1.0), *calling.stats.cache_hits.values())"


@pytest.fixture
def package(tmp_path) -> Path:
    folder = tmp_path / "site" / "small"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    shutil.copy(jit.__file__, folder / "jit.py")
    (folder / "called.py").write_text(CALLED.format(number=1.0))
    (folder / "calling.py").write_text(CALLING)
    (tmp_path / "temporary").mkdir()
    return folder


@pytest.fixture
def locked(package) -> Path:
    """The package where nothing can be written to, not even by root, whom permissions do not stop.

    Its `__pycache__` is a file, and the home is below /proc, where no folder can be made.
    """
    (package / "__pycache__").write_text("")
    return package


def use(package: Path, home: str | Path) -> tuple[list[float], str]:
    """Return [answer, number of functions loaded from disk ...] and what was said on stderr."""
    root = package.parent.parent
    unset = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "XDG_CACHE_HOME", "PYTHONPATH")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment |= {
        "HOME": str(home),
        "TMPDIR": str(root / "temporary"),
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True, cwd=root
    )
    return [float(number) for number in done.stdout.split()], done.stderr


def test_code_is_compiled_once(package, tmp_path):
    assert use(package, tmp_path) == ([2.0], "")
    assert use(package, tmp_path) == ([2.0, 1.0], "")
    assert list((package / "__pycache__").glob("calling*.nbi"))


def test_a_change_in_a_called_file_is_seen(package, tmp_path):
    assert use(package, tmp_path)[0] == [2.0]
    before = (package / "called.py").stat()
    (package / "called.py").write_text(CALLED.format(number=5.0))
    os.utime(package / "called.py", ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same time: other content
    assert use(package, tmp_path)[0] == [6.0]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where nobody can make a folder")
def test_where_nothing_can_be_written_code_is_kept_among_temporary_files(locked, tmp_path):
    answer, said = use(locked, "/proc/nowhere")
    folder = tmp_path / "temporary" / f"alldags-{os.getuid()}"
    assert answer == [2.0]
    assert said == (
        f"alldags: compiled code is kept in {str(folder)!r}: the package's folder and your home cannot be written to\n"
    )
    assert folder.stat().st_mode & 0o777 == 0o700
    assert use(locked, "/proc/nowhere") == ([2.0, 1.0], "")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where nobody can make a folder")
def test_code_that_others_could_have_written_is_not_run(locked, tmp_path):
    folder = tmp_path / "temporary" / f"alldags-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    answer, said = use(locked, "/proc/nowhere")
    assert answer == [2.0]
    assert said.startswith("alldags: compiled code cannot be kept, every run compiles again; set NUMBA_CACHE_DIR")
    assert said.count("\n") == 1
    assert list(folder.iterdir()) == []
