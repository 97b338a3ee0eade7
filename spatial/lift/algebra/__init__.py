"""Symbolic values, and what is proved of them: the ground of the lifting floor.

    values, walk             nodes of expressions, pieces of tensors; walks over them
    exact, fills             natives and build-time constants, correctly rounded
    bounds, pieces           ranges of integers, and what guards say; where the pieces of a tensor lie
    arith, rewrite           LOGOS arithmetic on nodes; substitution
    solve                    can accesses meet, who wrote an element
    keys, counting           a name for every expression that no spelling changes; the variables that count a piece
    folds, settle            reductions, and all expressions, in canonical form

Knows no statement, no variable of a program and no graph.
"""
