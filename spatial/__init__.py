"""`spatial`: a batch build system for multi-program deployments on spatial (dataflow) accelerators.

The packages in reading order, from the ground up. An import goes up this list only (a module imports what stands
above it); `tests/test_house.py` holds it.

    errors, numerics, target    the ground: the error family, what numbers a chip computes, chips as data
    ir/                         plain records: graphs, bodies, calls, programs, bundles; text form, wire form, validate
    logos/                      lexer, parser, syntax tree and reference interpreter of the source language
    graph/                      value ranges of a tensor graph and the shared optimizer
    lift/                       LOGOS statements to tensor graphs; knows no chip and no file
    select/                     one statement to section templates; layouts
    plan/                       constraints, candidates, cost, ranking
    passes/                     one file a pass, in the pinned order; composition of sections
    lowering                    the driver: a graph and options to a program, with honest counts
    calibration/                plans to be measured, ledgers of measurements, figures fitted to them
    build/                      specs, store, agreement, weights, linking, tasks: the only floor that knows files
    cli                         what a person types

    check/                  the checker } beside the stack: they import only ir, target, numerics and errors,
    simulate/     executors, cycle twin } so that nothing the compiler believes is believed here
"""

__version__ = "0.1.0"
