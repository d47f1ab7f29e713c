"""Hostile inputs: graphs, tables, saved files and command lines that are nearly right (``make fuzz``)."""
