"""Reading a deployment: an OCI image layout on disk, as bytes that are verified before anyone sees them.

Place: the read side of `publish`; the commands and the checker's callers load artifacts through it. Needs no store, no
spec and no sources: a layout copied elsewhere is whole. Trusts nothing it reads: sizes are bounded, names inside the
folder are digests of one form, links are not followed, JSON is read strictly, and each blob is hashed when asked for.

A layout may be published anew while it is read. All blobs of one generation are opened together, so a reader keeps the
generation it began with.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from spatial.errors import Damaged, EnvironmentFault

LAYOUT_VERSION = "1.0.0"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
ARTIFACT_TYPE = "application/vnd.spatial.deployment.v1"
PROVENANCE_TYPE = "application/vnd.in-toto+json"
TITLE = "org.opencontainers.image.title"

MAX_JSON = 4 << 20
MAX_BLOBS = 10_000
MAX_BLOB = 1 << 40
MAX_JSON_DEPTH = 32
MAPPED_FROM = 1 << 16
"""Blobs of this many bytes and more are mapped from disk instead of read."""
RETRIES = 20
"""How often a layout that is replaced while it is being opened is opened again."""

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Descriptor:
    """A blob as a manifest names it: what it is, `sha256:` and 64 digits, bytes, and annotations."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def title(self) -> str:
        """Its name within the deployment, "" if it has none."""
        return self.annotations.get(TITLE, "")


class Layout:
    """One generation of a published deployment, open. A context manager; safe to share between threads.

    `digest` is the deployment's: its manifest's. `config` and `layers` are what the manifest lists.
    """

    def __init__(self, path: Path, manifest: Descriptor, body: _Manifest, files: dict[str, _Blob]) -> None:
        self.path = path
        self.digest = manifest.digest
        self.config, self.layers, self.annotations = body.config, body.layers, body.annotations
        self._files = files
        self._verified: set[str] = set()

    def blob(self, digest: str) -> memoryview:
        """The bytes of a blob this manifest lists, verified the first time. Raises Damaged."""
        if digest not in self._files:
            raise Damaged(f"{self.path} lists no blob {digest}")
        data = self._files[digest].data
        if digest not in self._verified:
            if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
                raise Damaged(f"a blob of {self.path} is not what its name says: {digest}", "", "publish it again")
            self._verified.add(digest)
        return data

    def layer(self, title: str) -> Descriptor:
        """The layer with `title`. Raises Damaged if there is none or more than one."""
        found = [layer for layer in self.layers if layer.title == title]
        if len(found) != 1:
            raise Damaged(f"{self.path} lists {len(found)} layers with the title {title}")
        return found[0]

    def of_type(self, media_type: str) -> tuple[Descriptor, ...]:
        """The layers of one media type, in the order of the manifest."""
        return tuple(layer for layer in self.layers if layer.media_type == media_type)

    def verify(self) -> None:
        """Hash every blob. Raises Damaged at the first that is not what its name says."""
        for digest in self._files:
            self.blob(digest)

    def close(self) -> None:
        """Give the mappings back; memory views handed out stay valid while they are held."""
        self._files = {}

    def __enter__(self) -> Layout:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_layout(path: Path) -> Layout:
    """Open the deployment published at `path`, every blob of it.

    Raises EnvironmentFault where there is none or it cannot be read, Damaged where it is not sound.
    """
    for _ in range(RETRIES):
        with _Folder(path) as folder:
            manifest = _only_deployment(folder)
            try:
                return _open_generation(folder, manifest)
            except FileNotFoundError as error:
                # Replaced between reading the index and opening the blobs, or a blob is really missing.
                if _only_deployment(folder) == manifest:
                    raise Damaged(f"{path} lacks a blob it lists: {error.filename}", "", "publish it again") from None
    raise EnvironmentFault(f"{path} is being published over and over", "", "try again when builds have ended")


def deployment_digest(path: Path) -> str | None:
    """The digest of the deployment published at `path`, or None if there is none, or none that reads."""
    try:
        with _Folder(path) as folder:
            return _only_deployment(folder).digest
    except (Damaged, EnvironmentFault):
        return None


def read_provenance(path: Path) -> dict[str, object] | None:
    """The in-toto statement that refers to the deployment published at `path`, or None. For people to read.

    Raises EnvironmentFault or Damaged.
    """
    with _Folder(path) as folder:
        deployment = _only_deployment(folder)
        try:
            for entry in _listed(folder, PROVENANCE_TYPE):
                body = _json(_verified(folder, entry), f"a referrer of {path}")
                _verified(folder, _descriptor(body.get("config"), path))
                subject, layers = body.get("subject"), body.get("layers")
                if _descriptor(subject, path).digest == deployment.digest and isinstance(layers, list) and layers:
                    statement = _descriptor(cast("list[object]", layers)[0], path)
                    return _json(_verified(folder, statement), f"the provenance of {path}")
        except FileNotFoundError as error:
            raise Damaged(f"{path} lacks a blob it lists: {error.filename}", "", "publish it again") from None
    return None


@dataclass(frozen=True)
class _Manifest:
    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: Mapping[str, str]


@dataclass(frozen=True)
class _Blob:
    data: memoryview


class _Folder:
    """A layout's folder, opened once; files are reached from it by name, never through a link."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise EnvironmentFault(f"there is no deployment at {path}: {error.strerror}") from None

    def __enter__(self) -> _Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.handle)

    def read(self, name: str, size: int | None = None, limit: int = MAX_JSON) -> memoryview:
        """The bytes of the file `name`, at most `limit`, exactly `size` if given. Raises Damaged, FileNotFoundError."""
        at, opened = self.handle, list[int]()
        try:
            for part in name.split("/")[:-1]:
                at = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
                opened.append(at)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            at = os.open(name.split("/")[-1], flags, dir_fd=at)
            opened.append(at)
            found = os.fstat(at)
            if not stat.S_ISREG(found.st_mode):
                raise Damaged(f"{self.path}/{name} is no plain file")
            if found.st_size > limit or (size is not None and found.st_size != size):
                raise Damaged(f"{self.path}/{name} has {found.st_size} bytes", "", "publish it again")
            if found.st_size >= MAPPED_FROM:
                return memoryview(mmap.mmap(at, found.st_size, access=mmap.ACCESS_READ))
            with os.fdopen(os.dup(at), "rb") as file:
                data = file.read(found.st_size + 1)
            if len(data) != found.st_size:
                raise Damaged(f"{self.path}/{name} changed while it was read")
            return memoryview(data)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Damaged(f"{self.path}/{name} is reached through a link or a file") from None
            raise EnvironmentFault(f"{self.path}/{name} cannot be read: {error.strerror}") from error
        finally:
            for handle in opened:
                os.close(handle)


def _only_deployment(folder: _Folder) -> Descriptor:
    """The one deployment the index lists; referrers and what other tools add are passed over."""
    found = _listed(folder, ARTIFACT_TYPE)
    if len(found) != 1:
        raise Damaged(f"{folder.path}/index.json lists {len(found)} deployments")
    return found[0]


def _listed(folder: _Folder, artifact_type: str) -> list[Descriptor]:
    """The manifests of one artifact type that the index lists."""
    try:
        version = _json(folder.read("oci-layout"), f"{folder.path}/oci-layout")
        index = _json(folder.read("index.json"), f"{folder.path}/index.json")
    except FileNotFoundError as error:
        raise EnvironmentFault(f"there is no deployment at {folder.path}: it has no {error.filename}") from None
    if version.get("imageLayoutVersion") != LAYOUT_VERSION or index.get("schemaVersion") != 2:
        raise Damaged(f"{folder.path} is no OCI image layout of version {LAYOUT_VERSION}")
    manifests = index.get("manifests")
    entries = cast("list[object]", manifests) if isinstance(manifests, list) else []
    return [
        _descriptor({key: value for key, value in entry.items() if key != "artifactType"}, folder.path)
        for entry in (cast("dict[str, object]", e) for e in entries if isinstance(e, dict))
        if entry.get("artifactType") == artifact_type
    ]


def _verified(folder: _Folder, blob: Descriptor) -> memoryview:
    """A small blob, read and hashed at once. Raises FileNotFoundError, Damaged."""
    data = folder.read(_blob_name(blob.digest), blob.size)
    if "sha256:" + hashlib.sha256(data).hexdigest() != blob.digest:
        raise Damaged(f"a blob of {folder.path} is not what its name says: {blob.digest}", "", "publish it again")
    return data


def _open_generation(folder: _Folder, manifest: Descriptor) -> Layout:
    if manifest.media_type != MANIFEST_TYPE or manifest.size > MAX_JSON:
        raise Damaged(f"{folder.path}/index.json lists no image manifest")
    body = _manifest(_json(_verified(folder, manifest), f"the manifest of {folder.path}"), folder.path)
    files = {d.digest: _Blob(folder.read(_blob_name(d.digest), d.size, MAX_BLOB)) for d in (body.config, *body.layers)}
    return Layout(folder.path, manifest, body, files)


def _manifest(raw: dict[str, object], path: Path) -> _Manifest:
    match raw:
        case {"schemaVersion": 2, "mediaType": str(kind), "artifactType": str(artifact), "config": config,
              "layers": layers, "annotations": notes, **rest} if not rest:  # fmt: skip
            pass
        case _:
            raise Damaged(f"the manifest of {path} does not have the form of a deployment's")
    listed = cast("list[object]", layers) if isinstance(layers, list) else None
    if kind != MANIFEST_TYPE or artifact != ARTIFACT_TYPE or listed is None or len(listed) > MAX_BLOBS:
        raise Damaged(f"the manifest of {path} does not have the form of a deployment's")
    return _Manifest(_descriptor(config, path), tuple(_descriptor(n, path) for n in listed), _notes(notes, path))


def _descriptor(raw: object, path: Path) -> Descriptor:
    fields = cast("dict[str, object]", raw) if isinstance(raw, dict) else {}
    kind, digest, size = fields.get("mediaType"), fields.get("digest"), fields.get("size")
    if (
        set(fields) - {"annotations"} == {"mediaType", "digest", "size"}
        and isinstance(kind, str)
        and isinstance(digest, str)
        and DIGEST.fullmatch(digest)
        and isinstance(size, int)
        and not isinstance(size, bool)
        and 0 <= size <= MAX_BLOB
    ):
        return Descriptor(kind, digest, size, _notes(fields.get("annotations", {}), path))
    raise Damaged(f"{path} has a descriptor that does not read")


def _notes(raw: object, path: Path) -> dict[str, str]:
    notes = cast("dict[str, object]", raw) if isinstance(raw, dict) else {"": None}
    found = {key: value for key, value in notes.items() if isinstance(value, str)}
    if found != notes:
        raise Damaged(f"{path} has annotations that are no texts")
    return found


def _blob_name(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _json(data: memoryview, what: str) -> dict[str, object]:
    """A JSON object, read strictly: no name twice, no NaN, bounded depth. Raises Damaged."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a name twice")
        return made

    def refuse(text: str) -> object:
        raise ValueError(f"{text} is no JSON")

    text = bytes(data)
    try:
        if _depth(text) > MAX_JSON_DEPTH:
            raise ValueError("it is too deep")
        value: object = json.loads(text, object_pairs_hook=distinct, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{what} does not read: {str(error)[:80]}", "", "publish it again") from None
    if not isinstance(value, dict):
        raise Damaged(f"{what} is no object")
    return cast("dict[str, object]", value)


def _depth(text: bytes) -> int:
    """An upper bound of how deep brackets nest (those in strings count too)."""
    deepest = depth = 0
    for byte in re.finditer(rb"[\[\]{}]", text):
        depth += 1 if byte[0] in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
