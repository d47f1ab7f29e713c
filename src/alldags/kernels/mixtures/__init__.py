"""Loops of the scale-mixture engines."""
