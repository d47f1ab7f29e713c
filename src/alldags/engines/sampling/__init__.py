"""The sampler behind `mcmc`: a run of several chains, what it says, and how far it can be trusted."""
