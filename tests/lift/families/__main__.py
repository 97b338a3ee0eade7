"""`python -m lift.families [FAMILY …]` from `tests/`: what became of every hand-written spelling."""

from __future__ import annotations

import sys

from lift.families.corpus import facts, kinds, names, spellings
from lifting import agree, lifted, parse

from spatial.errors import SourceError
from spatial.ir import wire

for family in sys.argv[1:] or names():
    count = {"same": 0, "rounds": 0, "also": 0}
    known = facts(family)
    digests: dict[str, str] = {}
    for s in spellings(family):
        count[s.kind] += 1
        try:
            found = lifted(parse(s.source, "spelled.lg"), known.facts, known.results)
        except SourceError as error:
            print(f"PARSE    {s.name}: {error}")
            continue
        if found.graph is None:
            print(f"REFUSED  {s.name}: {'; '.join(f'{m.line}:{m.column} {m.why}' for m in found.missing)}")
            continue
        digests[s.source] = wire.digest(found.graph)
        try:
            for way in known.ways():
                agree(s.source, known.facts, known.inputs(way), known.results, found.graph)
        except (AssertionError, ValueError, IndexError, KeyError, SourceError) as error:
            print(f"WRONG    {s.name}: {type(error).__name__} {error}")
        plain = lifted(parse(s.plain, "spelled.lg"), known.facts, known.results).graph
        equal = digests[s.source] == digests.get(s.plain)
        if equal == (s.kind == "rounds"):
            print(f"{'EQUAL' if equal else 'DIFFERS'}  {s.name}")
        if s.kind == "rounds" and plain is not None and kinds(plain) != kinds(found.graph):
            print(f"FAMILY   {s.name}: {kinds(found.graph)} for {kinds(plain)}")
    print(f"{family}: {count}")
