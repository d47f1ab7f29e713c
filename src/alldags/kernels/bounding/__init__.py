"""Subsets that can be left out, and a proven bound of what they weigh."""
