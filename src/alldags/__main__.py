"""The program's beginning: ``alldags`` and ``python -m alldags``.

Nothing heavy is imported here at the top, so that an interrupt while packages load is answered in one line, too.
"""

from __future__ import annotations

from alldags.interrupts import INTERRUPTED, ending_when_interrupted, say_interrupted


def main() -> None:
    """Run the command line."""
    try:
        with ending_when_interrupted():
            from alldags.cli import main as run

            run()
    except KeyboardInterrupt:
        say_interrupted()
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
