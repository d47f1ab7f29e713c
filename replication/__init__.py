"""The paper's evaluation, and comparisons on semi-synthetic data; not part of the installed package."""
