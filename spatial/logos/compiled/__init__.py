"""The compiled mode of the interpreter: programs whose kinds can be told beforehand, run as machine code.

In reading order:

    kinds                       what is known of a value before anything runs, and how it is held
    knowledge                   what is known of a program, learnt walk by walk; refusals
    unit, operators, expressions, calls, changes, statements, units
                                the translator: a program to Python that numba compiles
    machine, arithmetic, sequences
                                what translated code calls; only these import numba
    inputs, telling, run        values at the border; lines and errors; a run

It shares with the reference interpreter the tree, the scopes, the tail calls, the ranges and every message. It knows no
tensor graph and no chip.
"""

from spatial.logos.compiled.run import Compiled, CompiledRun, interpret_compiled

__all__ = ["Compiled", "CompiledRun", "interpret_compiled"]
