"""Programs of every family in random spellings, held to the interpreter.

`model` says what is computed, without loops; `families`, `rows_and_tables` and `orders` list what; `choose` draws;
`indices`, `values`, `building`, `scanned`, `joined` and `nests` spell it as a LOGOS program; `outcome` lifts and
compares; `equal` compares graphs; `mutate` changes one thing of a program, `mutants` tries such programs.
`python -m lift.spellings` (from `tests/`) counts.
"""
