"""What is proved and said of a tensor graph as it stands: value ranges of its integers; what each statement is, in
words. Knows no source and no chip."""
