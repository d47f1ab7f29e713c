"""Candidate graphs: construction, conversion, reading, writing, drawing."""
