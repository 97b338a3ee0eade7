"""From a LOGOS program to a tensor graph: by meaning, not by spelling.

A program is executed once, symbolically: every loop body runs for one symbolic iteration and is then closed over all
of them. From the ground up, each room importing those above it in this list only:

    algebra      symbolic values, and what is proved of them
    context      what an execution holds: variables, sources, guards, loops under way
    carried      what a loop leaves in the variables it carries
    execution    the language's statements
    canonical    from executed values to a graph that does not tell how they were spelled
    roots        what is read from outside
    outcome      what is handed back where something is refused
    lifter       the way through: `lift`

This floor knows no chip, no layout and no file.
"""

from spatial.lift.context.facts import Facts, Table, UsedNames, used_names
from spatial.lift.lifter import flat_tables, lift

__all__ = ["Facts", "Table", "UsedNames", "flat_tables", "lift", "used_names"]
