"""``python -m replication small --quick`` in a checkout: the same as ``alldags reproduce small --quick``."""

from __future__ import annotations

import sys

from alldags.__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "reproduce")
    main()
