"""What is proved and said of a tensor graph as it stands: value ranges of its integers; what each statement is, in
words; which names are left. Knows no source and no chip."""
