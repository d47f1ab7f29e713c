"""Speed and accuracy figures, measured side by side in one run: ``make bench``."""
