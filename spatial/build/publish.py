"""Writing a deployment as an OCI image layout, whole or not at all.

Place: the last step of a build; `layout` reads what is written here. Knows blobs by name and media type, not what is in
them.

    oci-layout            which layout this is
    index.json            lists the manifest, and the provenance that refers to it
    blobs/sha256/…        manifest, config, layers, provenance; read-only hard links into the store, else copies

Blobs come first, each whole under its own digest; then `index.json` is replaced by a rename, which is the moment of
publication; then blobs that nothing lists any more go. A reader sees one generation or the next. Everything written is
a function of its inputs: no time, no path, no user.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spatial.build.layout import (
    ARTIFACT_TYPE,
    EMPTY_TYPE,
    INDEX_TYPE,
    LAYOUT_VERSION,
    MANIFEST_TYPE,
    PROVENANCE_TYPE,
    TITLE,
    open_layout,
    read_provenance,
)
from spatial.build.stat_cache import StatCache
from spatial.build.store import Store, disk, place_file, sync_folder
from spatial.errors import Bug, Damaged, EnvironmentFault

REF_NAME = "org.opencontainers.image.ref.name"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:spatial:build:1"
BUILDER = "urn:spatial:builder"

UNFINISHED = ".unfinished-"
"""How names of files begin that are not yet whole; a later publication removes what a killed one left."""


@dataclass(frozen=True)
class Blob:
    """An object of the store to publish: what it is, its name within the deployment, its digest in hexadecimal."""

    media_type: str
    title: str
    digest: str
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Provenance:
    """What a deployment was made from: `parameters` as the spec gives them, `materials` (name to digest) it read."""

    parameters: Mapping[str, object]
    materials: Mapping[str, str]
    compiler: str


def manifest_of(
    store: Store, config: Blob, layers: Sequence[Blob], annotations: Mapping[str, str] | None = None
) -> bytes:
    """The manifest of a deployment; its SHA-256 is the deployment's digest. Every blob must be in `store`."""
    body = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": _descriptor(store, config),
        "layers": [_descriptor(store, layer) for layer in layers],
        "annotations": dict(annotations or {}),
    }
    return _json(body)


def publish(
    store: Store,
    folder: Path,
    name: str,
    config: Blob,
    layers: Sequence[Blob],
    *,
    annotations: Mapping[str, str] | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Publish a deployment called `name` at `folder`; its digest, `sha256:` and 64 digits.

    The name, like the provenance, lies outside the digest. Equal titles of two layers are a bug of the caller. Raises
    EnvironmentFault where the disk stands in the way, Damaged where the store lost a blob; what was published before
    is then still whole.
    """
    titles = [layer.title for layer in layers]
    if len(set(titles)) != len(titles):
        raise Bug("two layers of a deployment have one title")
    manifest = manifest_of(store, config, layers, annotations)
    digest = hashlib.sha256(manifest).hexdigest()
    wanted = {blob.digest for blob in (config, *layers)}
    texts = {digest: manifest}
    listed: list[dict[str, object]] = [
        {
            "mediaType": MANIFEST_TYPE,
            "digest": f"sha256:{digest}",
            "size": len(manifest),
            "artifactType": ARTIFACT_TYPE,
            "annotations": {REF_NAME: name},
        }
    ]
    if provenance is not None:
        referrer, more = _referrer(digest, len(manifest), _statement(name, digest, provenance))
        listed.append(referrer)
        texts |= more
    with disk(f"publishing {folder}"):
        blobs = folder / "blobs" / "sha256"
        blobs.mkdir(parents=True, exist_ok=True)
        for blob in sorted(wanted):
            _bring(store, blob, blobs)
        for blob, data in sorted(texts.items()):
            if not _holds(blobs / blob, blob):
                _write(folder, blobs / blob, data)
        sync_folder(blobs)
        _write(folder, folder / "oci-layout", _json({"imageLayoutVersion": LAYOUT_VERSION}))
        _write(folder, folder / "index.json", _json({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": listed}))
        _sweep(blobs, wanted | set(texts))
    return f"sha256:{digest}"


def published_whole(folder: Path, digest: str, cache: StatCache | None = None) -> bool:
    """Whether the deployment at `folder` is the one with `digest`, every blob of it and of its provenance verified."""
    cache = cache or StatCache()
    try:
        with open_layout(folder) as layout:
            names = [d.digest.removeprefix("sha256:") for d in (layout.config, *layout.layers)]
            same = layout.digest == digest
        read_provenance(folder)
        return same and all(cache.digest(folder / "blobs" / "sha256" / name) == name for name in names)
    except (Damaged, EnvironmentFault, OSError):
        return False


def _descriptor(store: Store, blob: Blob) -> dict[str, object]:
    path = store.locate(blob.digest)
    if path is None:
        raise Damaged(f"{blob.title}, to be published, is no longer in the store", "", "build again")
    return {
        "mediaType": blob.media_type,
        "digest": f"sha256:{blob.digest}",
        "size": path.stat().st_size,
        "annotations": {TITLE: blob.title, **blob.annotations},
    }


def _referrer(digest: str, size: int, statement: bytes) -> tuple[dict[str, object], dict[str, bytes]]:
    """The index entry of a provenance manifest that refers to `digest`, and its blobs by digest."""
    empty = b"{}"
    names = {hashlib.sha256(data).hexdigest(): data for data in (empty, statement)}
    of_empty, of_statement = (f"sha256:{hashlib.sha256(data).hexdigest()}" for data in (empty, statement))
    body = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": PROVENANCE_TYPE,
            "config": {"mediaType": EMPTY_TYPE, "digest": of_empty, "size": len(empty)},
            "layers": [{"mediaType": PROVENANCE_TYPE, "digest": of_statement, "size": len(statement)}],
            "subject": {"mediaType": MANIFEST_TYPE, "digest": f"sha256:{digest}", "size": size},
        }
    )
    made = hashlib.sha256(body).hexdigest()
    entry: dict[str, object] = {
        "mediaType": MANIFEST_TYPE,
        "digest": f"sha256:{made}",
        "size": len(body),
        "artifactType": PROVENANCE_TYPE,
    }
    return entry, names | {made: body}


def _statement(name: str, digest: str, provenance: Provenance) -> bytes:
    """An in-toto statement (v1) with SLSA's provenance predicate (v1)."""
    materials = [{"name": key, "digest": {"sha256": value}} for key, value in sorted(provenance.materials.items())]
    return _json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": digest}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": dict(provenance.parameters),
                    "internalParameters": {"compiler": provenance.compiler},
                    "resolvedDependencies": materials,
                },
                "runDetails": {"builder": {"id": BUILDER}},
            },
        }
    )


def _json(value: object) -> bytes:
    """One line of JSON with sorted names: equal values, equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _holds(path: Path, digest: str) -> bool:
    """Whether `path` is a plain file with the content `digest` names."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _bring(store: Store, digest: str, blobs: Path) -> None:
    """Have object `digest` of the store in `blobs`, by a hard link, or by a copy where links do not reach."""
    source, target = store.locate(digest), blobs / digest
    if source is None:
        raise Damaged(f"object {digest[:12]}, to be published, is no longer in the store", "", "build again")
    if target.exists() and not target.is_symlink() and (target.samefile(source) or _holds(target, digest)):
        return
    temporary = blobs.parent / f"{UNFINISHED}{digest}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(source, temporary)
        except OSError:
            _write(blobs.parent, temporary, source.read_bytes())
        os.replace(temporary, target)
    finally:
        # Renaming one link of a file over another of the same file leaves both, so there may be one left.
        temporary.unlink(missing_ok=True)


def _write(folder: Path, path: Path, data: bytes) -> None:
    """Put `data` at `path`, whole, synced, read-only."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=UNFINISHED, delete=False) as file:
        try:
            file.write(data)
            place_file(file, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _sweep(blobs: Path, wanted: Iterable[str]) -> None:
    """Remove what the index no longer lists, and what a killed publication left half-way."""
    keep = set(wanted)
    for path in blobs.iterdir():
        if path.name not in keep:
            path.unlink(missing_ok=True)
    for folder in (blobs.parent, blobs.parent.parent):
        for path in folder.glob(UNFINISHED + "*"):
            path.unlink(missing_ok=True)
