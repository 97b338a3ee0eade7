"""The source language: lexer, parser, syntax tree, printer and reference interpreter of LOGOS's tensor subset.

In reading order:

    syntax, words                       the tree, and the vocabularies of the language
    strings, tokens, lexer              text to tokens
    cursor, operators, expressions      tokens to expressions
    blocks, statements, contracts, parser   ... to statements, functions, programs
    printer                             a tree back to text
    stop, show, values                  how a program stops; what a value is, and how it reads
    arithmetic, builtin                 what operators and builtins do
    scopes, tailcalls                   what a name means; which calls are loops; a program's inputs
    ranges, pytree, gen_expressions, gen_statements, faults, interpret   running a program, as generated Python
    compiled                            running it as machine code, if its kinds can be told

This floor knows no tensor graph, no chip and no file system: a source arrives as text with the name a person gave it.
"""
