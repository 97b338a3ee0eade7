"""From executed values to a graph that does not tell how they were spelled.

units, closed            statements in the making; reads looked through where nothing is lost
order                    who must come first
inside, once             the last proofs: every access is in range, every item is made once
share, hoist, sizes      what stands alone, once; what large expressions are cut at
joins                    what becomes part of its one reader
boxes, regions           canonical boxes; reads that exist only where a branch is taken
layouts, needs, lists    the axes of intermediates; what is read under conditions only; long lists as tables
alike, lockstep, layers  layers written out, folded to the block of a loop over them
emit, record             records and numbers; what became of every statement
graph                    the order of all these, on one screen
"""
