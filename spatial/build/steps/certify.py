"""certify: the certificate of a linked bundle, every claim derived by the checker.

Expects: input `config`, and every record it names under its digest. Ensures: `certificate`, the wire form. Raises
Refused with each obligation that does not hold.
"""

from __future__ import annotations

from spatial.build.image import Image, join
from spatial.build.steps.given import Given
from spatial.check import claims_of
from spatial.ir import wire


def run(given: Given) -> dict[str, bytes]:
    """The certificate of a bundle."""
    bundle = join(wire.unpack(given.inputs["config"], Image), given.inputs.__getitem__)
    return {"certificate": wire.pack(claims_of(bundle))}
