"""One small file per graph format; each has ``parse(text, probability)`` and ``write(graph)``."""
