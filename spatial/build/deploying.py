"""Publishing a certified bundle: which blobs, and what they were made from.

Place: the end of `pipeline`; `publish` writes. Everything that is published is an object of the store already.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from spatial import __version__
from spatial.build.canonical import encode
from spatial.build.deployment import Deployment, FileSource, FillSource
from spatial.build.fingerprint import FLOORS, compiler_digest
from spatial.build.pipeline import Pipeline
from spatial.build.publish import Blob, Provenance, manifest_of, publish, published_whole
from spatial.build.store import Key, key_of


class Publication:
    """What `artifacts/NAME` is to hold, once everything before it is made. Raises what `pipeline.get` raises."""

    def __init__(self, pipeline: Pipeline) -> None:
        from spatial.build.image import CONFIG_TYPE, Image, layers
        from spatial.ir import wire

        self.pipeline = pipeline
        self.folder = pipeline.shop.folders.artifacts / pipeline.deployment.name
        config = pipeline.get(pipeline.link())["config"]
        certificate = pipeline.get(pipeline.certify())["certificate"]
        image = wire.unpack(pipeline.shop.store.get(config), Image)
        self.config = Blob(CONFIG_TYPE, "config", config)
        self.layers = [Blob(layer.media_type, layer.title, layer.digest) for layer in layers(image, certificate)]
        self.provenance = _provenance(pipeline)

    @property
    def digest(self) -> str:
        """The deployment's digest."""
        manifest = manifest_of(self.pipeline.shop.store, self.config, self.layers)
        return f"sha256:{hashlib.sha256(manifest).hexdigest()}"

    @property
    def key(self) -> Key:
        """What the folder's content depends on."""
        told = self.provenance
        made_from = encode([told.parameters, told.materials, told.compiler])
        return key_of(
            "deploy",
            config=self.config.digest,
            layers=[[layer.title, layer.digest] for layer in self.layers],
            provenance=hashlib.sha256(made_from).hexdigest(),
        )

    def whole(self) -> bool:
        """Whether the folder holds just this, verified."""
        return published_whole(self.folder, self.digest)

    def publish(self) -> str:
        """Put it there; the deployment's digest."""
        d = self.pipeline.deployment
        return publish(self.pipeline.shop.store, self.folder, d.name, self.config, self.layers,
                       provenance=self.provenance)  # fmt: skip


def _provenance(pipeline: Pipeline) -> Provenance:
    """The files a deployment was made from, by their path from its folder, and the compiler by content."""
    d = pipeline.deployment
    sources = [path for program in d.programs.values() for path in program.sources]
    materials = {_inside(path, pipeline): pipeline.shop.digests.digest(path) for path in sorted({*sources, *d.files})}
    materials[f"targets/{d.target}.yaml"] = str(pipeline.chip().params["file"])
    source = d.weights.source
    if isinstance(source, FileSource):
        files = pipeline.file_digests(source)
        materials |= {Path(name).name: made for name, made in zip(source.files, files, strict=True)}
    compiler = hashlib.sha256("".join(compiler_digest(kind) for kind in sorted(FLOORS)).encode()).hexdigest()
    return Provenance(_parameters(d), materials, f"spatial {__version__} sha256:{compiler}")


def _inside(path: Path, pipeline: Pipeline) -> str:
    return "deployments/" + path.relative_to(pipeline.shop.folders.deployments).as_posix()


def _parameters(d: Deployment) -> dict[str, object]:
    """What a reader wants to know of a spec without having it."""
    source = d.weights.source
    made: dict[str, object] = {"deployment": d.name, "target": d.target, "sizes": dict(d.sizes)}
    if isinstance(source, FillSource):
        made["fill"] = {"seed": source.seed, "scale": source.scale}
    elif source is not None:
        made["weights"] = {"files": [Path(name).name for name in source.files], "from": source.requirement}
    return made
