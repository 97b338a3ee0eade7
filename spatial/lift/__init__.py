"""From a LOGOS program to a tensor graph: by meaning, not by spelling.

A program is executed once, symbolically: every loop body runs for one symbolic iteration and is then closed over all
of them. In reading order:

    values, arith, walk      symbolic scalars and tensors; LOGOS arithmetic on them
    rewrite, writes          substitution; one more piece over a tensor
    bounds, solve            what is proved of integers; can accesses meet, who wrote an element
    exact, fills             natives and build-time constants, correctly rounded
    flat                     tables of several axes read as one sequence
    facts, state             what a spec declares; variables, and the refusal
    survey                   what is noted of a program that is refused
    accesses, machine        indices to be proved in range; variables, guards, and the proof
    expressions              the language's expressions
    changes, loops, trips    what a body may change; a loop's record, who runs its body, and how often
    nests, blocks            a loop as a nest of independent iterations, or as a block of instances
    partly                   a loop of which statements are refused
    repeats, stores          the choice between the two; writes of items and rows
    execute                  the language's statements
    reductions, rescaled     sums, products, maxima; sums kept relative to a running maximum
    carries, inductions, combine, prefixes, running, places, written, close_*
                             what a loop leaves in the variables it carries
    alike, lockstep, layers  layers written out, folded to the block of a loop over them
    keys, counting, folds    keys of equal meaning; where variables count from; reductions in canonical form
    settle, units            expressions in canonical form; statements in the making, views looked through
    closed, order, share     fills; the order of statements; what is computed once
    regions                  reads that exist only where a branch is taken
    hoist, sizes, joins      what stands alone, what large expressions are cut at, what becomes part of its reader
    inside, needs, layouts   the last range check; what nobody asks for; the axes of intermediates
    boxes, emit              canonical boxes; records and numbers
    record, canonical        what became of every statement; the way from values to the graph
    roots, outcome           what is read from outside; what is handed back where something is refused
    lifter                   the way through: `lift`

This floor knows no chip, no layout and no file.
"""

from spatial.lift.facts import Facts, Table, UsedNames, used_names
from spatial.lift.lifter import flat_tables, lift

__all__ = ["Facts", "Table", "UsedNames", "flat_tables", "lift", "used_names"]
