"""`spatial interpret SOURCE [ARGS…]` or `DEPLOYMENT:PROGRAM`: the reference interpreter, which is what a program means.

Prints what the program Shows. `--in` gives inputs and state by name; of a deployment, sizes and weights are the spec's
(weights as they are stored: rounded to their format), and state that is not given starts as zeros. `--out` writes
results and state afterwards: of a deployment those the spec names, of a single source every number and array.

`--compiled` runs the program as machine code: the same lines, errors and results, or a refusal that says what compiled
code does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from spatial.build.deployment import Deployment, FileSource
from spatial.cli.output import Array, read_npz, write_npz
from spatial.cli.places import folders, named_program, source_text
from spatial.errors import UsageError

if TYPE_CHECKING:
    from spatial.build.pipeline import Pipeline
    from spatial.logos.syntax import Program


def run(options: argparse.Namespace) -> int:
    """Interpret."""
    named = named_program(options)
    if named is None:
        return _source(options)
    return _program(options, *named)


def _source(options: argparse.Namespace) -> int:
    from spatial.logos.parser import parse_files

    variables = _interpret(options, parse_files([source_text(options)]), read_npz(options.given))
    if options.out is not None:
        write_npz(options.out, _arrays(variables, sorted(variables)))
    return 0


def _program(options: argparse.Namespace, deployment: Deployment, program: str) -> int:
    from spatial.build.pipeline import Pipeline
    from spatial.build.workshop import Workshop
    from spatial.logos.parser import parse_files

    pipeline = Pipeline(Workshop(folders(options)), deployment)
    given = inputs_of(pipeline, program, read_npz(options.given))
    spec = deployment.programs[program]
    files = [(str(path), path.read_bytes().decode()) for path in spec.sources]
    variables = _interpret(options, parse_files(files), given)
    if options.out is not None:
        state = [name for name, table in deployment.tables.items() if table.state and name in given]
        write_npz(options.out, _arrays(variables, [*spec.results, *state]))
    return 0


def _interpret(options: argparse.Namespace, program: Program, given: Mapping[str, object]) -> Mapping[str, object]:
    """Run a program in the mode asked for; what its variables hold at the end."""
    if options.compiled:
        from spatial.logos.compiled import interpret_compiled

        return interpret_compiled(program, given, _show).variables
    from spatial.logos.interpret import interpret

    return interpret(program, given, _args(options), _show).variables


def inputs_of(pipeline: Pipeline, program: str, given: Mapping[str, Array]) -> dict[str, object]:
    """Everything a program of a deployment reads: sizes, `given` tables, zeros for other state, weights.

    Raises UsageError for a table that is missing or of another shape, or a name that is none.
    """
    import numpy as np

    from spatial.ir import wire
    from spatial.ir.graph import Graph

    d = pipeline.deployment
    graph = wire.unpack(pipeline.shop.store.get(pipeline.get(pipeline.lift(program))["graph"]), Graph)
    unknown = sorted(set(given) - set(d.tables))
    if unknown:
        raise UsageError(f"{d.name} has no table {unknown[0]}", f"it has {', '.join(d.tables)}")
    found: dict[str, object] = dict(d.sizes)
    for tensor in graph.tensors:
        if tensor.role == "weight":
            found[tensor.name] = stored_weight(pipeline, tensor.name, tensor.dims)
        elif tensor.role in ("input", "state"):
            shape = d.tables[tensor.name].shape
            if tensor.name not in given and tensor.role == "input":
                raise UsageError(f"the input {tensor.name} was not given", "", "put it into the file of --in")
            kind = np.int64 if tensor.kind == "int" else np.float64
            array = given.get(tensor.name, np.zeros(shape, kind))
            if array.shape != shape:
                raise UsageError(f"{tensor.name} has the shape {list(shape)}", f"and was given {list(array.shape)}")
            found[tensor.name] = array.astype(kind).reshape(tensor.dims)
    return found


def stored_weight(pipeline: Pipeline, name: str, dims: tuple[int, ...]) -> Array:
    """Weight `name` in the shape programs index, in float64, as its stored format rounds it."""
    from spatial.build.weight_files import open_weights
    from spatial.build.weights import dequantise_q8_0, quantise_q8_0, weight_values
    from spatial.numerics import round_to

    d = pipeline.deployment
    source = d.weights.source
    files = open_weights(source.format, pipeline.model()) if isinstance(source, FileSource) else None
    values = weight_values(d, name, files, dims)
    prec = d.weights.stored.get(name, "f32")
    kept = dequantise_q8_0(*quantise_q8_0(values)) if prec == "q8_0" else round_to(prec, values)
    return kept.astype("f8")


def _args(options: argparse.Namespace) -> list[str]:
    return [options.source, *options.args]


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _arrays(variables: Mapping[str, object], names: list[str]) -> dict[str, Array]:
    """The variables among `names` that hold numbers, as arrays."""
    import numpy as np

    from spatial.logos.values import Seq

    found: dict[str, Array] = {}
    for name in names:
        match variables.get(name):
            case Seq() as seq:
                try:
                    array = seq.to_array()
                except UsageError:
                    continue  # ragged or of texts: nothing an npz could hold
                if array.dtype.kind in "iuf":
                    found[name] = array
            case bool() | None | str():
                continue
            case int() | float() as number:
                found[name] = np.asarray(number)
            case np.ndarray() as held:
                array: Array = held
                if array.dtype.kind in "iuf":
                    found[name] = array
            case _:
                continue
    return found
