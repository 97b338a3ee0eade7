"""What is proved of a tensor graph as it stands: value ranges of its integers. Knows no source and no chip."""
