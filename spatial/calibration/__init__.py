"""Calibration: plans to be measured, what was measured of them, and the figures of a target that follow from it.

    knobs          what held knobs say of a plan, and of a section that lacks them
    arrangements   how a plan moves its pages, as a label that measurements are told apart by
    candidates     the compiler's own choice, and the best plan of each arrangement; each as it is built
    sections       the sections of a program, each to be measured by itself
    operations     single operations by name, shape and formats, as templates
    measurements   what was measured, one time for each section and arrangement: a ledger
    pricing        the plan a measurement is of, and its price under any figures
    refit          figures of a target, fitted to measurements

Each knows those above it. A measurement harness's facility: nothing here decides what is compiled. Knows no file; the
cycle twin is the caller's.
"""
