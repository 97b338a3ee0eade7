"""`spatial check ARTIFACT`: accept, reject or unsupported, every obligation counted.

JSON: `answer`, `obligations` (name to instances), `failures` and `unsupported` (obligation, place, witness, mend),
`digest` of a published deployment.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spatial.build.artifacts import Artifact, open_artifact
from spatial.cli.output import print_json
from spatial.errors import UsageError

if TYPE_CHECKING:
    from spatial.check import Failure, Verdict


def run(options: argparse.Namespace) -> int:
    """Check it; 0 only for accept."""
    artifact = open_artifact(options.artifact)
    verdict = judge(artifact, options)
    if options.json:
        print_json("check", _record(artifact, verdict))
    else:
        print(verdict.answer)
        for name, count in verdict.counts.items():
            print(f"  {name}: {count}")
        for what, found in (("fails", verdict.failures), ("unsupported", verdict.unsupported)):
            for failure in found:
                print(f"{what}: {failure}")
    return 0 if verdict.accepted else 1


def judge(artifact: Artifact, options: argparse.Namespace) -> Verdict:
    """The checker's answer for what the artifact holds."""
    from spatial.check import check_bundle, check_program

    if artifact.bundle is not None:
        return check_bundle(artifact.bundle, artifact.certificate, artifact.pages.get if artifact.pages else None)
    if options.target is None:
        raise UsageError("a program alone names no chip", "", "say which with --target")
    from spatial.cli.places import target_of

    assert artifact.program is not None
    return check_program(artifact.program, target_of(options))


def _record(artifact: Artifact, verdict: Verdict) -> dict[str, object]:
    def listed(found: tuple[Failure, ...]) -> list[dict[str, str]]:
        return [{"obligation": f.obligation, "place": f.place, "witness": f.witness, "mend": f.mend} for f in found]

    return {
        "answer": verdict.answer,
        "digest": artifact.digest or None,
        "certified": artifact.certificate is not None,
        "obligations": dict(verdict.counts),
        "failures": listed(verdict.failures),
        "unsupported": listed(verdict.unsupported),
    }
