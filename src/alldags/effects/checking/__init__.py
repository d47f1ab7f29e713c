"""Checks of what a fit assumes: from rows in batches, from moments, and from the candidate graphs."""
