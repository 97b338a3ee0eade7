"""The simulator: what a program of section bodies computes on a target, bit for bit.

    arithmetic, product    what one operation, one page product computes, where it rounds, in which order
    expression, permute    expressions and lane permutations over pages
    memory, paging         tensors as their layout's bytes; pages moved by index arrays
    rounding               which values pass the operand rounding unchanged
    axes, leaves           a stage's sites, turns and loops as array axes; what expression leaves stand for
    process, links         the order of a stage's and an engine's acts; who feeds whom
    structure              is a body well enough formed to be run
    counts                 one run on page counts: does the schedule run within the capacities
    groups, steps          which states hang together; their updates in order
    accumulate, access     states, loads and stores of whole streams
    lockstep               the fast executor: a stage's whole call at once
    pagewise, pagestage    the judge: a page at a time, under any fair interleaving
    run, host              programs, and entries of a bundle with their state between calls
    relations, show        what inputs must satisfy together; what a program prints
    twin/                  how long it takes, in cycles: computes no values

It knows stages, queues and pages: no attention, no transformer, no model. It imports records, targets and numbers only,
nothing that lowers programs, so that it believes nothing the compiler believes.
"""
