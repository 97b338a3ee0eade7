"""From executed values to a graph that does not tell how they were spelled.

units, closed, axes      statements in the making; reads looked through where nothing is lost; what is varied over
order                    who must come first
inside, once             the last proofs: every access is in range, every item is made once
share, hoist, sizes      what stands alone, once; what large expressions are cut at
joins                    what becomes part of its one reader
boxes, regions           canonical boxes; reads that exist only where a branch is taken
layouts, needs           the axes of intermediates; what is read under conditions only
lists, tabulate          long lists, and indices that nothing counts out, as tables
alike, lockstep, layers  layers written out, folded to the block of a loop over them
emit, record             records and numbers; what became of every statement
graph                    the order of all these, on one screen
"""
