"""The reference interpreter: what a program means.

A program is compiled to a Python module (`gen_statements`) and run; a fault anywhere in it is reported as a
SourceError at the node it came from. The interpreter knows no file: inputs and arguments are handed in, Show writes
to a function.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from spatial.errors import Place, Problem, SourceError
from spatial.logos import arithmetic
from spatial.logos.builtin import BUILTIN_FUNCTIONS, NATIVE_FUNCTIONS
from spatial.logos.faults import CALL_DEPTH, explain
from spatial.logos.gen_statements import generate
from spatial.logos.pytree import Site, Sites
from spatial.logos.scopes import free_names
from spatial.logos.show import show_value
from spatial.logos.stop import Stop
from spatial.logos.syntax import Program
from spatial.logos.values import FALSE, TRUE, Seq, Text, Value, internal, plain

__all__ = ["CALL_DEPTH", "Run", "Seq", "Value", "free_names", "interpret", "show_value"]

# What a helper may need on top of the deepest call.
_HEADROOM = 60

# What that comes to, for whoever counts calls: Main's frame and the innermost aside.
FRAMES = CALL_DEPTH + _HEADROOM - 2

_HELPERS = (
    *("divide", "floor_divide", "remainder", "power", "approximately", "contains"),
    *("bit_and", "bit_or", "bit_xor", "shift_left", "shift_right", "combine", "join"),
    *("length", "take_slice", "from_end", "set_item", "push", "pop", "counting", "snapshot"),
    *("fail_assertion", "wrong_count", "unknown_function", "nothing"),
)
_FILE = "<logos>"


@dataclass(frozen=True)
class Run:
    """What a run leaves behind: the top-level variables of Main, inputs included, by name."""

    variables: Mapping[str, Value]


def interpret(
    program: Program,
    inputs: Mapping[str, object] | None = None,
    args: Sequence[str] = (),
    output: Callable[[str], None] = print,
) -> Run:
    """Run a program.

    `inputs` are bound as variables of Main before it starts: numbers, bools, strings, None, Seqs, nested lists or
    numpy arrays; the caller's own are never changed. `args` is what `args()` gives, the program's name first. `output`
    is called with each line shown. Raises SourceError, with the place, where the program stops on an error; lines
    shown before stay shown.
    """

    def show(value: object) -> None:
        output(show_value(value))

    given = {name: internal(value) for name, value in (inputs or {}).items()}
    module, context = generate(program, frozenset(given))
    namespace: dict[str, Any] = {
        **{name: getattr(arithmetic, name) for name in _HELPERS},
        **{f"b_{name}": function for name, function in BUILTIN_FUNCTIONS.items()},
        **{f"n_{name}": function for name, function in NATIVE_FUNCTIONS.items()},
        **context.texts,
        **{f"g_{name}": value for name, value in given.items()},
        "b_args": lambda: Seq([Text(arg) for arg in args]),
        "b_show": show,
        "Seq": Seq,
        "TRUE": TRUE,
        "FALSE": FALSE,
    }
    try:
        code = compile(module, _FILE, "exec")
    except RecursionError:
        what, mend = "the program is nested too deep for the interpreter", "split its longest chain of Otherwise If"
        raise SourceError(Problem(what, "", mend, _start(program))) from None
    exec(code, namespace)
    _run(namespace, context.sites)
    return Run({name[2:]: plain(value) for name, value in namespace.items() if name.startswith("g_")})


def _start(program: Program) -> Place | None:
    return program.main[0].span.place if program.main else None


def _run(namespace: dict[str, Any], sites: Sites) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _depth() + CALL_DEPTH + _HEADROOM))
    try:
        namespace["main"]()
    except (
        Stop,
        ArithmeticError,
        LookupError,
        NameError,
        TypeError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        raise _located(error, sites) from None
    finally:
        sys.setrecursionlimit(limit)


def _depth() -> int:
    return sum(1 for _ in traceback.walk_stack(None))


def _located(error: Exception, sites: Sites) -> Exception:
    """The error as the person who wrote the program sees it; one that is not the program's stays as it is."""
    trace, last, calls = _innermost(error.__traceback__)
    if trace is None or not (trace is last or isinstance(error, (Stop, RecursionError, MemoryError))):
        return error
    site = sites.at(trace.tb_lineno) or Site(span=sites.found[0].span)
    what, why, mend = explain(error, site, trace.tb_frame, calls)
    return SourceError(Problem(what, why, mend, site.span.place))


def _innermost(trace: TracebackType | None) -> tuple[TracebackType | None, TracebackType | None, int]:
    """The innermost traceback entry of generated code, the innermost of all, and how many are of generated code."""
    found = last = None
    calls = 0
    while trace is not None:
        last = trace
        if trace.tb_frame.f_code.co_filename == _FILE:
            found, calls = trace, calls + 1
        trace = trace.tb_next
    return found, last, calls
