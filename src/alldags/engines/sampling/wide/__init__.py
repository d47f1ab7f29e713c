"""Sampling nodes with many candidate parents: a few hot ones are swept often, all others exactly but rarely."""
