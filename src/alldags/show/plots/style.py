"""One palette and one set of sizes for all pictures.

Colours that stand side by side in a picture stay apart for people who do not see red or green; a test simulates it.
"""

from __future__ import annotations

# the posterior of an effect
EFFECT, INTERVAL, NO_EFFECT, ZERO = "#2b6cb0", "#1a365d", "#c05621", "0.75"

# candidate graphs
CERTAIN, UNCERTAIN, TEXT = "#1b1b1b", "#2f6db3", "#222222"
ROLES = {  # inside and border of a variable's box
    "treatment": ("#fde0c5", "#c8590d"),
    "outcome": ("#d9ecd4", "#2d7d32"),
    "": ("#ffffff", "#8a8a8a"),
    "folded": ("#f2f2f2", "#c4c4c4"),
}

FIGURE_SIZE = (6.4, 3.6)  # inches
MAX_INCHES = 40.0  # of the longer side, however large a graph is
FONT_SIZE = 10.0  # points, of a figure of its own
SMALL = "small"  # of legends and remarks
DPI = 150  # of files

# bars, ranges and many effects at a time: what points down is hatched, so that it can be told in grey
DOWN_HATCH = "////"
STRUCTURE, COEFFICIENTS = "#2b6cb0", "#cbd5e0"
SHADES = ("#dbe7f4", "#a9c8e8", "#6fa3d6")  # of nested intervals, widest first
LINES = ("#2b6cb0", "#c05621", "#1b1b1b", "#7f7f7f")  # lines side by side, told apart by their dashes, too
DASHES = ("-", "--", ":", "-.")
HEAT = "Blues"  # map of probabilities, dark in grey where they are large

COLUMN = 5.0  # inches: a column of a page
ROW = 0.3  # inches, of a row of a picture with one row per thing
