"""The steps of a build, one file each: `run(given)` takes parameters and bytes and gives bytes by name.

    names      which sizes, tables and weights a source mentions
    lift       a source to its graph; places for messages in a side file
    agree      the layout of every table and weight, for all programs at once
    lower      a graph to a program
    page       a constant fill as raw pages
    index      the tensors of a weight source
    pack       a weight as raw pages
    link       programs and packed weights to a bundle
    certify    the certificate of a bundle
    chip       a target's file to its record

Steps know no store and no task; what one may import is listed in `fingerprint`, and so is part of its key.
"""
