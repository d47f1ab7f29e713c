"""Gaussian scale mixtures: what the engines `vb`, `em` and `gibbs` share."""
