"""What users hold in their hands: `Posterior` and `Effect`."""
