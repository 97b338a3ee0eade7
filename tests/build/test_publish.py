"""Publishing and reading deployments: whole generations, verified blobs, nothing followed out of the folder."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spatial.build.layout import deployment_digest, open_layout, read_provenance
from spatial.build.publish import Blob, Provenance, manifest_of, publish, published_whole
from spatial.build.store import Store
from spatial.errors import Bug, Damaged, EnvironmentFault

LARGE = bytes(range(256)) * 1000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def put(store: Store, folder: Path, *layers: bytes, name: str = "llama", **more) -> str:
    blobs = [Blob("application/vnd.spatial.weight", f"w{n}", store.put(data)) for n, data in enumerate(layers)]
    return publish(store, folder, name, Blob("application/vnd.spatial.map", "map", store.put(b"map")), blobs, **more)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_is_published_reads_back(store, tmp_path):
    digest = put(store, tmp_path / "d", b"one", LARGE, b"")
    with open_layout(tmp_path / "d") as layout:
        assert layout.digest == digest == deployment_digest(tmp_path / "d")
        assert bytes(layout.blob(layout.config.digest)) == b"map"
        assert [bytes(layout.blob(d.digest)) for d in layout.layers] == [b"one", LARGE, b""]
        assert layout.layer("w1").size == len(LARGE)
        assert [d.title for d in layout.of_type("application/vnd.spatial.weight")] == ["w0", "w1", "w2"]
        layout.verify()
        with pytest.raises(Damaged, match="0 layers"):
            layout.layer("absent")
        with pytest.raises(Damaged, match="lists no blob"):
            layout.blob("sha256:" + "0" * 64)
    assert published_whole(tmp_path / "d", digest)


def test_the_layout_is_plain_oci(store, tmp_path):
    digest = put(store, tmp_path / "d", b"one")
    assert json.loads((tmp_path / "d" / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((tmp_path / "d" / "index.json").read_text())
    (entry,) = index["manifests"]
    assert entry["digest"] == digest and entry["annotations"] == {"org.opencontainers.image.ref.name": "llama"}
    for path in (tmp_path / "d" / "blobs" / "sha256").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        assert path.stat().st_mode & 0o777 == 0o444


def test_blobs_are_links_into_the_store_and_the_copy_needs_none(store, tmp_path):
    put(store, tmp_path / "d", LARGE)
    name = store.put(LARGE)
    assert (tmp_path / "d" / "blobs" / "sha256" / name).samefile(store.object_path(name))
    shutil.copytree(tmp_path / "d", tmp_path / "copy")
    shutil.rmtree(tmp_path / "d")
    shutil.rmtree(store.root)
    with open_layout(tmp_path / "copy") as layout:
        layout.verify()


def test_copies_where_links_do_not_reach(store, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    digest = put(store, tmp_path / "d", LARGE)
    assert published_whole(tmp_path / "d", digest)


def test_the_same_bytes_wherever_whenever_and_under_whatever_name(store, tmp_path):
    put(store, tmp_path / "a", b"one")
    put(Store(tmp_path / "other"), tmp_path / "deep" / "er", b"one")
    assert files(tmp_path / "a") == files(tmp_path / "deep" / "er")
    provenance = Provenance({"target": "reference"}, {"decode.lg": "ab" * 32}, "cd" * 32)
    assert put(store, tmp_path / "b", b"one", name="other", provenance=provenance) == deployment_digest(tmp_path / "a")


def test_provenance_refers_to_the_deployment_from_outside_its_digest(store, tmp_path):
    provenance = Provenance({"target": "reference"}, {"decode.lg": "ab" * 32}, "cd" * 32)
    digest = put(store, tmp_path / "d", b"one", provenance=provenance)
    statement = read_provenance(tmp_path / "d")
    assert statement is not None
    assert statement["subject"] == [{"name": "llama", "digest": {"sha256": digest.removeprefix("sha256:")}}]
    assert statement["predicate"]["buildDefinition"]["resolvedDependencies"] == [
        {"name": "decode.lg", "digest": {"sha256": "ab" * 32}}
    ]
    for blob in (tmp_path / "d/blobs/sha256").iterdir():
        data = blob.read_bytes()
        blob.unlink()
        assert not published_whole(tmp_path / "d", digest), "provenance is looked at too"
        blob.write_bytes(data[:-1] + b"?")
        assert not published_whole(tmp_path / "d", digest)
        blob.write_bytes(data)
    assert published_whole(tmp_path / "d", digest)
    assert put(store, tmp_path / "d", b"one") == digest
    assert read_provenance(tmp_path / "d") is None


def test_stale_and_unfinished_files_go(store, tmp_path):
    put(store, tmp_path / "d", b"one", LARGE)
    (tmp_path / "d" / "blobs" / ".unfinished-x").write_text("half")
    (tmp_path / "d" / "note.txt").write_text("mine")
    put(store, tmp_path / "d", b"two")
    names = {p.name for p in (tmp_path / "d" / "blobs" / "sha256").iterdir()}
    assert store.put(b"two") in names and store.put(LARGE) not in names and len(names) == 3
    assert not (tmp_path / "d" / "blobs" / ".unfinished-x").exists()
    assert (tmp_path / "d" / "note.txt").exists()


def test_a_reader_keeps_the_generation_it_began_with(store, tmp_path):
    put(store, tmp_path / "d", b"one", LARGE)
    with open_layout(tmp_path / "d") as layout:
        put(store, tmp_path / "d", b"two")
        layout.verify()
        assert bytes(layout.blob(layout.layer("w1").digest)) == LARGE


def test_readers_during_publication_see_whole_generations(store, tmp_path):
    digests = {put(store, tmp_path / f"g{n}", bytes([n]) * 70000, b"x%d" % n) for n in range(4)}
    put(store, tmp_path / "d", bytes([0]) * 70000, b"x0")
    done = threading.Event()

    def write():
        for n in range(60):
            put(store, tmp_path / "d", bytes([n % 4]) * 70000, b"x%d" % (n % 4))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = set()
    while not done.is_set():
        with open_layout(tmp_path / "d") as layout:
            layout.verify()
            seen.add(layout.digest)
    thread.join()
    assert seen <= digests and len(seen) > 1


def _publish_new(store: Store, folder: Path) -> str:
    blobs = [Blob("m", f"w{n}", store.put(data)) for n, data in enumerate((b"new", b"newer"))]
    return publish(store, folder, "llama", blobs[0], blobs)


def test_a_kill_at_any_write_leaves_the_last_good_deployment(store, tmp_path):
    """The publisher is killed at its n-th call that changes the disk, for every n until it ends by itself."""
    put(store, tmp_path / "d", b"old", LARGE)
    old = deployment_digest(tmp_path / "d")
    new = _publish_new(store, tmp_path / "other")
    code = """if True:
        import os, signal, sys
        from pathlib import Path
        from spatial.build.store import Store
        from spatial.build.publish import Blob, publish
        left = int(sys.argv[2])
        def counted(call):
            def made(*args, **kwargs):
                global left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)
            return made
        store = Store(Path(sys.argv[1]) / "store")
        blobs = [Blob("m", f"w{n}", store.put(data)) for n, data in enumerate((b"new", b"newer"))]
        for name in ("link", "replace", "fchmod", "fsync"):
            setattr(os, name, counted(getattr(os, name)))
        Path.unlink = counted(Path.unlink)
        publish(store, Path(sys.argv[1]) / "d", "llama", blobs[0], blobs)
        """
    seen: list[str] = []
    for n in range(60):
        run = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(n)], capture_output=True, text=True)
        assert run.returncode in (0, -signal.SIGKILL), run.stderr
        with open_layout(tmp_path / "d") as layout:
            layout.verify()
            seen.append(layout.digest)
        if run.returncode == 0:
            break
        put(store, tmp_path / "d", b"old", LARGE)
    # Old up to the one moment of publication, new ever after.
    assert seen == [old] * seen.count(old) + [new] * seen.count(new)
    assert seen.count(old) > 8 and seen.count(new) > 1 and run.returncode == 0


@pytest.mark.parametrize("where", ["blob", "manifest", "index.json", "oci-layout"])
@pytest.mark.parametrize("how", ["flip", "cut", "gone", "link", "folder", "pipe", "huge"])
def test_damage_is_found(store, tmp_path, where, how):
    digest = put(store, tmp_path / "d", LARGE, b"one")
    blobs = tmp_path / "d" / "blobs" / "sha256"
    path = {"blob": blobs / store.put(LARGE), "manifest": blobs / digest.removeprefix("sha256:")}.get(
        where, tmp_path / "d" / where
    )
    data = path.read_bytes()
    path.unlink()
    match how:
        case "flip":
            path.write_bytes(data[:10] + bytes([data[10] ^ 1]) + data[11:])
        case "cut":
            path.write_bytes(data[:-1])
        case "link":
            (tmp_path / "elsewhere").write_bytes(data)
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "huge":
            with path.open("wb") as file:
                file.truncate(1 << 33)
        case _:
            pass
    assert not published_whole(tmp_path / "d", digest)
    with pytest.raises((Damaged, EnvironmentFault)):
        open_layout(tmp_path / "d").verify()
    shutil.rmtree(path) if how == "folder" else path.unlink(missing_ok=True)
    assert put(store, tmp_path / "d", LARGE, b"one") == digest
    assert published_whole(tmp_path / "d", digest), "publishing again mends it"


def test_a_damaged_blob_in_place_is_mended_by_publishing_again(store, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    digest = put(store, tmp_path / "d", b"one")
    path = tmp_path / "d" / "blobs" / "sha256" / store.put(b"one")
    path.chmod(0o644)
    path.write_bytes(b"eno")
    assert not published_whole(tmp_path / "d", digest)
    assert put(store, tmp_path / "d", b"one") == digest and published_whole(tmp_path / "d", digest)


def test_a_linked_blobs_folder_is_not_followed(store, tmp_path):
    put(store, tmp_path / "d", b"one")
    (tmp_path / "d" / "blobs").rename(tmp_path / "blobs")
    (tmp_path / "d" / "blobs").symlink_to(tmp_path / "blobs")
    with pytest.raises(Damaged, match="through a link"):
        open_layout(tmp_path / "d")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda m: m | {"schemaVersion": 3}, "form"),
        (lambda m: m | {"extra": 1}, "form"),
        (lambda m: m | {"layers": {}}, "form"),
        (lambda m: m | {"config": m["config"] | {"digest": "sha256:../../../etc/passwd"}}, "does not read"),
        (lambda m: m | {"config": m["config"] | {"size": -1}}, "does not read"),
        (lambda m: m | {"config": m["config"] | {"urls": ["x"]}}, "does not read"),
        (lambda m: m | {"annotations": {"a": 1}}, "no texts"),
        (lambda m: "[" * 100 + "]" * 100, "too deep"),
        (lambda m: '{"a": 1, "a": 2}', "twice"),
        (lambda m: '{"a": NaN}', "NaN"),
        (lambda m: "[]", "no object"),
        (lambda m: "{", "does not read"),
    ],
)
def test_unsound_manifests(store, tmp_path, change, part):
    folder = tmp_path / "d"
    digest = put(store, folder, b"one")
    blobs = folder / "blobs" / "sha256"
    made = change(json.loads((blobs / digest.removeprefix("sha256:")).read_bytes()))
    data = made.encode() if isinstance(made, str) else json.dumps(made).encode()
    name = hashlib.sha256(data).hexdigest()
    (blobs / name).write_bytes(data)
    index = json.loads((folder / "index.json").read_bytes())
    index["manifests"][0] |= {"digest": f"sha256:{name}", "size": len(data)}
    (folder / "index.json").unlink()
    (folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(Damaged, match=part):
        open_layout(folder)


def test_what_other_tools_add_to_an_index_is_passed_over(store, tmp_path):
    digest = put(store, tmp_path / "d", b"one")
    path = tmp_path / "d" / "index.json"
    index = json.loads(path.read_bytes())
    index["manifests"].append({"mediaType": "x", "artifactType": "signature", "digest": "y", "size": 1})
    index["annotations"] = {"a": "b"}
    path.unlink()
    path.write_text(json.dumps(index, indent=2))
    assert deployment_digest(tmp_path / "d") == digest


def test_no_deployment_and_no_blob(store, tmp_path):
    assert deployment_digest(tmp_path / "absent") is None
    with pytest.raises(EnvironmentFault, match="no deployment"):
        open_layout(tmp_path)
    with pytest.raises(Damaged, match="no longer in the store"):
        manifest_of(store, Blob("m", "map", "0" * 64), [])
    with pytest.raises(Bug, match="one title"):
        name = store.put(b"x")
        publish(store, tmp_path / "d", "d", Blob("m", "map", name), [Blob("m", "w", name), Blob("m", "w", name)])
    assert not (tmp_path / "d").exists()
