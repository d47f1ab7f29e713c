"""All subsets of a node's parents, summed by compiled loops."""
