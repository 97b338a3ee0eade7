"""The source language: lexer, parser, syntax tree, printer and reference interpreter of LOGOS's tensor subset.

In reading order: `syntax` (the tree), `words`, `lexer`, `parser` (text to tree), `printer` (tree to text),
`show` and `values` (what a value is and how it reads), `interpret` (what a program means). This floor knows no
tensor graph, no chip and no file system: a source arrives as text with the name a person gave it.
"""
