"""Whether a pass has still to be run on a body.

A pass expects one phase. A body before it is out of order, which is our own fault; one beyond it has been through the
pass already, and is left as it is. So a pass never changes what it made, nor what a later pass made of that.
"""

from __future__ import annotations

from spatial.errors import Bug
from spatial.ir.body import PHASES, Body


def due(name: str, phase: str, body: Body) -> bool:
    """Whether `body` is in the phase that pass `name` expects, and not beyond it; raises `Bug` where it is before."""
    here, expected = PHASES.index(body.phase), PHASES.index(phase)
    if here < expected:
        raise Bug(f"pass {name} expects a body that is {phase}", f"it was given one that is {body.phase}")
    return here == expected
