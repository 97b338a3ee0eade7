"""Values at the border of compiled code: a caller's inputs as flat arrays with sizes, and results as arrays again.

An array of a caller is used where it is if its numbers are 64-bit, nothing changes it and it lies in one piece; so a
table of a hundred million weights costs nothing. Lists are read item by item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spatial.errors import Problem, Unsupported
from spatial.logos.compiled.kinds import BOOL, FLOAT, INT, NOTHING, TEXT, UNKNOWN, Kind, seq_of
from spatial.logos.compiled.knowledge import PLAIN
from spatial.logos.syntax import Let, Name, Pop, Program, Set, expressions, statements, walk
from spatial.logos.values import internal, plain_nested
from spatial.logos.words import INT64_MAX, INT64_MIN

Array = npt.NDArray[Any]

_DTYPES: dict[str, Any] = {"Int": np.int64, "Float": np.float64, "Bool": np.bool_, "?": np.int64}


def mentioned(program: Program) -> frozenset[str]:
    """Every name that a program reads, sets or binds at the top of Main."""
    found = {s.name for s in program.main if isinstance(s, Let)}
    found |= {s.into for s in program.main if isinstance(s, Pop) and s.into is not None}
    for body in (program.main, *(f.body for f in program.functions)):
        for statement in statements(body):
            if isinstance(statement, Set):
                found.add(statement.name)
            for expr in expressions(statement):
                found.update(node.name for node in walk(expr) if isinstance(node, Name))
    return frozenset(found)


def held(name: str, value: object) -> tuple[Kind, list[Any]]:
    """An input's kind, and the parts that hold it."""
    if isinstance(value, (np.ndarray, np.generic)):
        array: Array = np.asarray(cast("Any", value))
        if array.dtype.kind in "biuf":
            return _of_array(name, array)
    nested = plain_nested(internal(cast("object", value)))
    if not isinstance(nested, list):
        return _of_scalar(name, nested)
    sizes: list[int] = []
    leaves: list[Any] = []
    _flatten(name, cast("list[Any]", nested), 0, sizes, leaves)
    kinds = {_kind_of(leaf) for leaf in leaves}
    if len(kinds) > 1 or kinds & {TEXT, NOTHING}:
        raise _unheld(name, f"it holds {' and '.join(sorted(f'{kind}s' for kind in kinds))}")
    for leaf in leaves:
        _of_scalar(name, leaf)
    kind = kinds.pop() if kinds else UNKNOWN
    return seq_of(kind, len(sizes)), [np.array(leaves, _DTYPES[kind.name]), 0, *sizes]


def _of_array(name: str, array: Array) -> tuple[Kind, list[Any]]:
    kind = {"b": BOOL, "f": FLOAT}.get(array.dtype.kind, INT)
    if array.dtype == np.uint64 and array.size and int(array.max()) > INT64_MAX:
        raise _unheld(name, "it holds an Int beyond 64 bits")
    if array.ndim == 0:
        return kind, [array.astype(_DTYPES[kind.name]).item()]
    flat = np.ascontiguousarray(array, _DTYPES[kind.name]).reshape(-1)
    if not flat.flags.writeable:  # numba would take it for another kind of array
        flat = flat.copy()
    return seq_of(kind, array.ndim), [flat, 0, *array.shape]


def _kind_of(value: object) -> Kind:
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return TEXT
        case _:
            return NOTHING


def _of_scalar(name: str, value: object) -> tuple[Kind, list[Any]]:
    kind = _kind_of(value)
    if kind in (TEXT, NOTHING):
        raise _unheld(name, f"it is {'a Text' if kind == TEXT else 'nothing'}")
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        raise _unheld(name, "it holds an Int beyond 64 bits")
    return kind, [value]


def _flatten(name: str, items: list[Any], depth: int, sizes: list[int], leaves: list[Any]) -> None:
    """The scalars of nested lists, and how many items each axis has."""
    if len(sizes) == depth:
        sizes.append(len(items))
    elif sizes[depth] != len(items):
        raise _unheld(name, "its rows are of unlike length")
    for item in items:
        if isinstance(item, list):
            if leaves and len(sizes) == depth + 1:
                raise _unheld(name, "it holds sequences and scalars")
            _flatten(name, cast("list[Any]", item), depth + 1, sizes, leaves)
        elif len(sizes) != depth + 1:
            raise _unheld(name, "it holds sequences and scalars")
        else:
            leaves.append(item)


def _unheld(name: str, why: str) -> Unsupported:
    return Unsupported(Problem(f"the input {name} can't be held by compiled code", why, PLAIN))


def widened(value: object) -> object:
    """An input that the program never names, as it would be found among its variables."""
    if isinstance(value, np.ndarray):
        array: Array = cast("Any", value)
        if array.dtype.kind in "biuf":
            return array.astype(_DTYPES[{"b": "Bool", "f": "Float"}.get(array.dtype.kind, "Int")], copy=False)
    return cast("object", value)


def owned(parts: list[Any]) -> list[Any]:
    """The parts of an input that the program changes: the caller's own never does."""
    return [part.copy() if isinstance(part, np.ndarray) else part for part in parts]


def results(kinds: Mapping[str, Kind], parts: list[Any]) -> dict[str, object]:
    """Values of variables by name, from the parts of all of them in order: numbers, bools, arrays."""
    found: dict[str, object] = {}
    position = 0
    for name, kind in kinds.items():
        found[name] = _result(kind, parts[position : position + kind.parts])
        position += kind.parts
    return found


def _result(kind: Kind, parts: list[Any]) -> object:
    if not kind.rank:
        return parts[0]
    array, start, *sizes = parts
    size = int(np.prod(sizes, dtype=np.int64))
    if not size:  # as an empty list makes an array: axes inside an empty one don't show
        return np.empty(sizes[: sizes.index(0) + 1], np.float64)
    return array[start : start + size].reshape(sizes)
