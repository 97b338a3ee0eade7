"""From a lifted program and the agreed layouts to a program for a target.

    outcome    what is handed back: a program, or what is missing of it
    sections   the sections of a statement: templates, integers proved, the passes
    dividing   which reductions are cut into chunks, for their sites and their cycles
    driver     the way through: `lower`

Each knows those above it.
"""

from spatial.lowering.driver import lower
from spatial.lowering.outcome import Made, ProgramLowering
from spatial.lowering.sections import Options

__all__ = ["Made", "Options", "ProgramLowering", "lower"]
