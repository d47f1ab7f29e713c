"""A page on this computer to draw a candidate graph on and see the effect change."""
