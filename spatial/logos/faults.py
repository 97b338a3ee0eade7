"""What Python's exceptions mean in the language: each kind of run-time error in its own words.

The operators of numbers are Python's, so it is Python that notices a misuse; the site says which node was at fault.
"""

from __future__ import annotations

import ast
import re
from types import FrameType
from typing import Any

from spatial.logos.arithmetic import undefined
from spatial.logos.pytree import Site, locate
from spatial.logos.show import show_value
from spatial.logos.stop import Stop
from spatial.logos.syntax import Binary, Index, Pop, Push, SetItem
from spatial.logos.values import Seq, type_name

# Calls that may be open at once; tail calls don't count.
CALL_DEPTH = 2500

TOO_DEEP = (
    f"calls nested deeper than {CALL_DEPTH}",
    "only a call in tail position takes no depth",
    "use a loop",
)

_QUOTED = re.compile(r"'(\w+)'")
_TYPE_NAMES = {"int": "Int", "float": "Float", "NoneType": "Nothing", "Bool": "Bool", "Text": "Text", "Seq": "Seq"}
_VERBS = {"+": "add {} and {}", "-": "subtract {1} from {0}", "*": "multiply {} by {}"}


def explain(error: Exception, site: Site, frame: FrameType, calls: int) -> tuple[str, str, str]:
    """What happened, why it can't be, and what would mend it; `calls` were open."""
    match error:
        case Stop():
            return error.what, error.why, error.mend
        case RecursionError() if calls < CALL_DEPTH:
            return "a sequence nested too deep", "what is done here goes into every item of it", "use a flatter one"
        case RecursionError():
            return TOO_DEEP
        case NameError():
            stop = undefined(str(error.name or "").removeprefix("g_"))
            return stop.what, stop.why, stop.mend
        case MemoryError():
            return "out of memory", "what the program holds is too much for this machine", "hold less at once"
        case OverflowError():
            return "an Int too large for a Float", "beyond about 1.8e308 there is no finite one", ""
        case IndexError():
            return _out_of_range(site, frame)
        case AttributeError():
            return _no_sequence(site, type_name(error.obj)), "it is no Seq", ""
        case _:
            return _wrong_types(str(error), site, frame), "", ""


def _operand(tree: ast.expr | None, frame: FrameType) -> Any:
    """The value of an operand, computed again where the fault happened; None if it can't be."""
    if tree is None:
        return None
    try:
        return eval(
            compile(locate(ast.Expression(tree)), "<operand>", "eval"),
            frame.f_globals,
            frame.f_locals,
        )
    except (NameError, TypeError):
        return None


def _out_of_range(site: Site, frame: FrameType) -> tuple[str, str, str]:
    index = _operand(site.index, frame)
    collection = _operand(site.collection, frame)
    shown = "the index" if index is None else f"index {show_value(index)}"
    why = f"the sequence has {len(collection.items)} items" if isinstance(collection, Seq) else ""
    return f"{shown} is out of range", why, ""


def _no_sequence(site: Site, name: str) -> str:
    match site.node:
        case SetItem():
            return f"cannot set an item of {name}"
        case Push():
            return f"cannot push to {name}"
        case Pop():
            return f"cannot pop from {name}"
        case _:
            return f"cannot index {name}"


def _wrong_types(message: str, site: Site, frame: FrameType) -> str:
    names = [_TYPE_NAMES[word] for word in _QUOTED.findall(message) if word in _TYPE_NAMES]
    match site.node:
        case Index() | SetItem():
            index = type_name(_operand(site.index, frame)) if site.index is not None else (names or ["?"])[-1]
            return f"cannot index a Seq with {index}"
        case Binary(op) if op in _VERBS and len(names) >= 2:
            return "cannot " + _VERBS[op].format(*names[-2:])
        case _ if len(names) >= 2:
            return f"cannot compare {names[-2]} and {names[-1]}"
        case _:
            return message
