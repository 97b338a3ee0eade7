"""The language's statements, executed symbolically: every loop body once, then closed over all iterations.

nests, blocks            a loop as a nest of independent iterations, or as a block of instances
partly                   a loop of which statements are refused
repeats, stores          the choice between these; writes of items and rows
returns                  what statements return, in all cases or in some
execute                  the statements
"""
