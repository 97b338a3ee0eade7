"""The plain records everything above speaks in, and their forms.

    affine     linear forms over coordinates
    graph      tensor graphs: what a program computes, after lifting
    body       section bodies: what a section does, with exact semantics
    program    tensors, calls, phases: what a chip runs
    layout     where each element of a tensor lies in memory
    registers  the registers a computing stage takes
    text       the text form of bodies and programs: prints and parses back
    wire       the canonical msgpack form
    validate   what must hold at each phase of lowering

Knows no source language, no file and no plan search. `docs/sections.md` tells the semantics at length.
"""
