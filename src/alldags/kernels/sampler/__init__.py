"""Gibbs sampling of parent sets."""
