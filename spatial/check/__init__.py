"""The checker: judges programs and deployments from the artifact alone, and trusts nothing the compiler says.

Three answers: accept; reject, with obligation, place, witness and what would mend it; unsupported, with the reason.
There are no warnings beside an accept. The obligations, with the files that judge them:

     1 shape        records have their types (conform); names, ports, choices, forms, kinds and shapes of expressions
                    give the body a meaning (wellformed, stage_parts, typing_rules)
     2 precision    each format exists on the datapath that uses it (datapaths)
     3 resources    scratch, queues, destination and vector registers, counters suffice on every site (resources)
     4 items        sites and turns meet every item once; no accumulator of the call where a turn is idle (items)
     5 queues       one producer and one consumer of a queue on a site, or neither; rates balance (queues)
     6 schedule     each stage is stepped whole by one engine that carries its kind; one complete schedule exists within
                    the capacities and leaves every queue empty (schedule, events, site_classes, counts)
     7 multicast    groups lie on the body's sites, no receiver has two senders, no sender of loaded pages is idle while
                    a member is not (multicast, which says why no more is needed)
     8 access       loads and stores have an operand of the right mode and plane; a run-time index keeps the base inside
                    (accesses, which states the rule for edges)
     9 store        no element is stored twice in a call, no granule by two items (stores, cover, granules)
    10 binding      calls bind what their bodies were proved for (bindings)
    11 version      loads read initialised bytes of the version they name; versions are covered once (versions)
    12 rectangle    the calls of a phase take disjoint sites of the chip (bindings)
    13 integer      every integer fits where it is computed, kept, pushed and stored (integers, expression_spans, spans)
    14 graph        every item of a graph that travels with a program is made once (graphs, meeting)
    15 deployment   programs agree on shared tables; allocations are apart and as large as their layouts (deployment)
    16 claims       a certificate says what is derived, and binds the bundle (bundles)

Judged once for each distinct body: 1 to 9 and 13 (bodies). Each program: 10 to 12 (programs). Each deployment: 14 to
16. Stages that send and receive between chips are unsupported. That a program computes what its graph says is not
judged here: these obligations make it safe, and its result determined.

Imports records, numerics and targets; never `ir.validate` nor anything that compiles or simulates.
"""

from spatial.check.bundles import Contents, check_bundle, claims_of
from spatial.check.programs import check_program
from spatial.check.verdict import OBLIGATIONS, Failure, Verdict

__all__ = ["OBLIGATIONS", "Contents", "Failure", "Verdict", "check_bundle", "check_program", "claims_of"]
