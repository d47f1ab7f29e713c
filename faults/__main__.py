"""Let faults happen for a while and print what came of them: ``python -m faults --seconds 600``.

Everything is done in a folder of temporary files. Root is not needed; for root, all of it is done a second time as a
user without rights.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from faults import scenes
from faults.process import ROOT, Fault, Place, can_mount, users

SCENES: dict[str, Callable[[Place], str]] = {
    "reproduce killed": scenes.reproduce_killed,
    "saving killed": scenes.saving_killed,
    "report killed": scenes.report_killed,
    "disk full": scenes.disk_full,
    "output full": scenes.output_full,
    **({"disk small": scenes.disk_small} if can_mount() else {}),
    "nothing writable": scenes.nothing_writable,
    "two at once": scenes.two_at_once,
    "memory short": scenes.memory_short,
}
SECONDS = 12  # Ctrl-C after 1, 2, ..., 12 seconds, then from the start


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of all programs: compiled code is kept in the folder, so that no user needs another's."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "ALLDAGS_DATA") if name in os.environ}
    return kept | {
        "PYTHONPATH": f"{ROOT / 'src'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "MPLCONFIGDIR": str(folder),
    }


def main() -> int:
    """Run all scenes in turn until the time is used up, each at least once; print a table."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="only scenes whose name contains one of these words")
    parser.add_argument("--user", choices=users(), help="only as this user")
    options = parser.parse_args()
    rows = defaultdict(list)
    for user in [options.user] if options.user else users():
        share = options.seconds / (1 if options.user else len(users()))
        _as_user(user, share, Random(f"{options.seed} {user}"), options.only, rows)
    return _print(rows)


def _as_user(user: str, seconds: float, rng: Random, only: list[str], rows: dict[tuple[str, str], list[str]]) -> None:
    with TemporaryDirectory(prefix="alldags-faults-") as name:
        folder = Path(name)
        scenes.write_study(folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o777)
        place = Place(folder, user, rng, environment(folder))
        wanted = {name: scene for name, scene in _all(count()).items() if not only or any(w in name for w in only)}
        place.run([*scenes.ALLDAGS, *scenes.QUESTION])  # compiles
        end = time.monotonic() + seconds
        for turn in count():
            for title, scene in wanted.items():
                if turn and time.monotonic() > end:
                    return
                rows[user, title].append(_outcome(scene, place))
                print(f"{user}, {title}: {rows[user, title][-1]}", flush=True)


def _all(numbers: count[int]) -> dict[str, Callable[[Place], str]]:
    def interrupt(place: Place) -> str:
        return scenes.interrupted(place, 1 + next(numbers) % SECONDS)

    return SCENES | {f"interrupted ({turn})": partial(interrupt) for turn in (1, 2, 3)}


def _outcome(scene: Callable[[Place], str], place: Place) -> str:
    try:
        return f"ok {scene(place)}".strip()
    except Fault as fault:
        return f"FAULT {fault}"


def _print(rows: dict[tuple[str, str], list[str]]) -> int:
    print(f"\n{'user':<10}{'what':<20}{'times':>6}{'faults':>8}")
    for (user, title), outcomes in rows.items():
        print(f"{user:<10}{title:<20}{len(outcomes):>6}{sum(o.startswith('FAULT') for o in outcomes):>8}")
    return int(any(outcome.startswith("FAULT") for outcomes in rows.values() for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
