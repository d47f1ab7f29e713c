"""What users hold in their hands: `Posterior`, `Effect`, tables and plots."""
