"""Built-in example, simulators and loaders of public data."""
