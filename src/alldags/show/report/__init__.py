"""A report on one effect: one file of HTML that needs nothing else, no network and no server."""
