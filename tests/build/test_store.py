"""The store: whole files only, verified reads, damaged entries set aside, keys that name every input."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatial.build.canonical import decode, digest, encode
from spatial.build.stat_cache import StatCache, hash_file
from spatial.build.store import Store, changes, disk, key_of, memo
from spatial.errors import Bug, Damaged, EnvironmentFault


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, warnings) -> Store:
    return Store(tmp_path / "store", warn=warnings.append)


def overwrite(path: Path, data: bytes) -> None:
    """Change a file in place, as a bad disk or a careless hand would."""
    path.chmod(0o644)
    path.write_bytes(data)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(values)
def test_canonical_bytes_read_back(value):
    assert decode(encode(value), "x") == value


def test_key_order_does_not_matter_and_types_do():
    assert encode({"a": 1, "b": 2}) == encode({"b": 2, "a": 1})
    assert len({encode(v) for v in (1, 1.0, True, "1", b"1", [1], None)}) == 7


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x82\xa1b\x01\xa1a\x02", b"\xcc\x01", b"\xca\x00\x00\x00\x00",
                                  b"\x01\x01", b"\x81\x01\x02", b"\x91" * 2000, b"\xdf\xff\xff\xff\xff"])  # fmt: skip
def test_other_encodings_are_refused(data):
    with pytest.raises(Damaged):
        decode(data, "x")


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {3}, object(), 2**64, "\ud800"])
def test_what_has_no_canonical_form_is_our_bug(value):
    with pytest.raises((Bug, UnicodeEncodeError)):
        encode(value)


def test_objects_come_back_and_are_kept_once(store):
    name = store.put(b"hello")
    assert name == digest(b"hello") == store.put(b"hello")
    assert store.get(name) == b"hello"
    path = store.locate(name)
    assert path is not None and path.stat().st_mode & 0o777 == 0o444
    assert list((store.root / "tmp").iterdir()) == []


def test_files_are_copied_in(store, tmp_path):
    (tmp_path / "big").write_bytes(bytes(range(256)) * 9000)
    name = store.put_file(tmp_path / "big")
    assert store.get(name) == (tmp_path / "big").read_bytes()
    with pytest.raises(EnvironmentFault, match="absent"):
        store.put_file(tmp_path / "absent")


@pytest.mark.parametrize("damage", [b"", b"hell", b"jello"])
def test_a_damaged_object_is_set_aside_and_missed(store, warnings, damage):
    name = store.put(b"hello")
    overwrite(store.object_path(name), damage)
    assert store.locate(name) is None
    assert len(warnings) == 1 and name[:12] in warnings[0]
    assert len(list((store.root / "damaged").iterdir())) == 1
    assert store.put(b"hello") == name and store.get(name) == b"hello"
    overwrite(store.object_path(name), damage)
    with pytest.raises(Damaged, match="damaged"):
        store.get(name)
    with pytest.raises(Damaged, match="no object"):
        store.get(name)


def test_memo_makes_once(store):
    made: list[int] = []

    def make():
        made.append(1)
        return {"graph": b"g", "origins": b"o"}

    key = key_of("lift", source="abc", sizes={"rows": 2})
    first = memo(store, key, make)
    assert first == memo(store, key, make) == {"graph": digest(b"g"), "origins": digest(b"o")}
    assert made == [1]
    overwrite(store.object_path(first["graph"]), b"G")
    assert memo(store, key, make) == first and made == [1, 1]


def test_damaged_records_are_misses(store, warnings):
    key = key_of("lift", source="abc")
    store.record(key, {"graph": store.put(b"g")})
    path = store._action_path(key)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        overwrite(path, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert store.lookup(key) is None
        assert len(warnings) == 1 and not path.exists()
        warnings.clear()
        store.record(key, {"graph": store.put(b"g")})
    other = store._action_path(key_of("lift", source="abd"))
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(whole)
    assert store.lookup(key_of("lift", source="abd")) is None, "a record under another key's name"


def test_every_input_changes_the_key_and_is_named():
    parts = {"source": "a" * 64, "sizes": {"rows": 2, "kv": 3}, "numerics": ["exact"], "target": None}
    base = key_of("lift", **parts)
    for name, other in [("source", "b" * 64), ("sizes", {"rows": 3, "kv": 3}), ("numerics", []), ("target", "x")]:
        changed = key_of("lift", **(parts | {name: other}))
        assert changed.digest != base.digest
        told = changes(base.facts(), changed.facts())
        assert len(told) == 1 and told[0].startswith(name)
    assert changes(base.facts(), key_of("lift", **(parts | {"sizes": {"rows": 4}})).facts()) == (
        "sizes.kv is gone (was 3)", "sizes.rows: 2 -> 4",
    )  # fmt: skip
    assert key_of("lift", **dict(reversed(parts.items()))).digest == base.digest
    assert key_of("lower", **parts).digest != base.digest
    with pytest.raises(Bug):
        key_of("lift", source=Path("x"))


def test_the_key_is_the_same_under_another_hash_seed():
    code = "from spatial.build.store import key_of; print(key_of('k', a={'x': 1, 'y': [2]}, b='c').digest)"
    seen = {
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, check=True,
                       capture_output=True, text=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert seen == {key_of("k", b="c", a={"y": [2], "x": 1}).digest + "\n"}


def test_disk_trouble_is_an_environment_fault(tmp_path):
    (tmp_path / "store").write_text("a file where the folder should be")
    with pytest.raises(EnvironmentFault, match="the store"):
        Store(tmp_path / "store").put(b"x")
    with pytest.raises(EnvironmentFault, match="No space left"), disk("writing"):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_once(tmp_path, monkeypatch):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    class Full:
        """A temporary file on a full disk: what is buffered is written, and fails, when it is flushed and closed."""

        def __init__(self, file):
            self.name, self.write, self.flush, self.close, self.inner = file.name, file.write, full, full, file

    made = []
    opened = tempfile.NamedTemporaryFile
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda **k: made.append(Full(opened(**k))) or made[-1])
    with pytest.raises(EnvironmentFault, match=r"^error: writing to the store: No space left"):
        Store(tmp_path / "store").put(b"x")
    assert list((tmp_path / "store/tmp").iterdir()) == []
    made[0].inner.close()


def test_a_path_that_is_no_text_is_not_remembered(tmp_path):
    named = os.fsdecode(os.fsencode(tmp_path / "n") + b"\xff")
    for path in (named, tmp_path / "plain"):
        Path(path).write_bytes(b"data")
        os.utime(path, ns=(1, 1))
    time.sleep(0.15)
    cache = StatCache(tmp_path / "digests")
    assert cache.digest(named) == cache.digest(tmp_path / "plain") == digest(b"data")
    cache.save()
    assert str(tmp_path / "plain").encode() in (tmp_path / "digests").read_bytes()


def test_a_writer_that_dies_leaves_no_entry(store):
    with pytest.raises(RuntimeError), store.incoming() as file:
        file.write(b"half")
        raise RuntimeError
    assert list((store.root / "tmp").iterdir()) == []
    assert not (store.root / "objects").exists()


def test_many_writers_at_once(store):
    def work(seed: int):
        for n in range(20):
            memo(store, key_of("k", n=n), lambda n=n: {"x": bytes([n]) * 1000})
            store.put(bytes([seed, n]))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.lookup(key_of("k", n=n)) for n in range(20))


def test_stat_cache_sees_same_size_and_same_mtime(tmp_path):
    cache = StatCache()
    path = tmp_path / "f"
    path.write_bytes(b"one")
    stat = path.stat()
    first = cache.digest(path)
    path.write_bytes(b"two")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert cache.digest(path) == hash_file(path)[0] != first


def test_stat_cache_keeps_settled_files_across_runs(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    monkeypatch.setattr("spatial.build.stat_cache.SETTLED_NS", -(10**12))
    cache = StatCache(tmp_path / "cache")
    cache.digest(path)
    cache.save()
    monkeypatch.setattr("spatial.build.stat_cache.hash_file", lambda path: pytest.fail("hashed again"))
    assert StatCache(tmp_path / "cache").digest(path) == digest(b"one")
    (tmp_path / "cache").write_bytes(b"\xc1 not ours")
    monkeypatch.undo()
    assert StatCache(tmp_path / "cache").digest(path) == digest(b"one")


def test_a_file_just_written_is_not_remembered(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    cache = StatCache()
    cache.digest(path)
    seen: list[str] = []
    monkeypatch.setattr("spatial.build.stat_cache.hash_file", lambda p: (seen.append(p), hash_file(p))[1])
    cache.digest(path)
    assert len(seen) == 1
