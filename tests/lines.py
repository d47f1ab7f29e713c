"""Fits without curves: what most tests are about, since straight lines have closed forms to be held against."""

from __future__ import annotations

from functools import partial

import alldags as ad

fit = partial(ad.fit, terms=None)
