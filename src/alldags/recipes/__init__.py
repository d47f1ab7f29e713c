"""Recipes: what a posterior is made from, as Python, as a record, and as a file."""
