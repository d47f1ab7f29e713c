"""Calibration: do intervals hold what they promise? Run with ``python -m calibration``; results go to the docs."""
