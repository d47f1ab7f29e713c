"""How answers are shown: words, tables, JSON, HTML and pictures, each made from plain records."""
