"""The colours of all pictures, each named once."""

from __future__ import annotations

INK, TEXT, GREY, WHITE = "#1b1b1b", "#222222", "#8a8a8a", "#ffffff"
NAVY, BLUE = "#1a365d", "#2b6cb0"
RUST, PEACH = "#c05621", "#fde0c5"
GREEN, MINT = "#2d7d32", "#d9ecd4"
