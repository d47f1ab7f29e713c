"""From node posteriors to total effects: plain functions of arrays and node posteriors."""
