"""What a loop leaves in the variables it carries from one iteration to the next, or why that cannot be told.

reductions, rescaled     sums, products, maxima; sums kept relative to a running maximum
carries, inductions      the record of what is carried; what grows by the same every time
combine, running         folds of folds; running maxima with what is kept beside them
places, prefixes         where the best was found; running sums and maxima, all their values
written                  what iterations write over each other
widened                  Ints that a loop makes Floats
close_scalars, close_sequences    the choice between all these, for numbers and for sequences
"""
