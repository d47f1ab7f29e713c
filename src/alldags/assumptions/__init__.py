"""What an answer rests on: checks from rows, moments and graphs; notes; overlap, misfit, stability, placebo."""
