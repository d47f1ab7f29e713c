"""Tables reduced to moments."""
