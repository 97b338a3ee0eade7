"""names: which of the declared sizes, tables and weights a source mentions; only these need be part of its key.

Expects: `declared`, the names by kind; the files aside. Ensures: `used`, a canonical map of the same kinds.
"""

from __future__ import annotations

from spatial.build.canonical import encode
from spatial.build.steps.given import Given
from spatial.build.steps.sources import read_program, with_paths
from spatial.lift import Facts, Table, used_names


def run(given: Given) -> dict[str, bytes]:
    """The names a source mentions. Raises SourceError where it does not parse."""
    declared = given.params["declared"]
    facts = Facts(
        sizes=dict.fromkeys(declared["sizes"], 0),
        tables=dict.fromkeys(declared["tables"], Table((), "int")),
        weights=tuple(declared["weights"]),
        assume=tuple(given.params["assume"]),
    )
    used = used_names(with_paths(given, lambda: read_program(given)), facts)
    return {"used": encode({"sizes": used.sizes, "tables": used.tables, "weights": used.weights})}
