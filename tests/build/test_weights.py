"""Weight sources: sound files read as another reader reads them, damaged ones refused, fills and Q8_0 by formula."""

import hashlib
import json
import struct
import zipfile
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spatial.build.deployment import Deployment, FileSource, FillSource, Part, WeightName, WeightSpec
from spatial.build.fills import fill
from spatial.build.weight_files import index_bytes, index_of, open_weights
from spatial.build.weights import dequantise_q8_0, merges, quantise_q8_0, weight_values
from spatial.errors import Damaged, EnvironmentFault, Refused, SpatialError, Unsupported

RNG = np.random.default_rng(5)


def deployment(source, **names: str | WeightName) -> Deployment:
    made = {t: n if isinstance(n, WeightName) else WeightName(t, n) for t, n in names.items()}
    return Deployment("d", "t", {}, {}, WeightSpec(source, made), {}, "auto", {})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A GGUF file with metadata of every kind, three layers, and tensors of several types."""
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_array("tokens", ["a", "bb", "ccc"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_bool("flag", True)
    writer.add_float32("eps", 1e-5)
    for layer in range(3):
        for kind, rows in (("Q4_1", 4), ("Q8_0", 2)):
            values = RNG.standard_normal((rows, 64), dtype=np.float32)
            quantised = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(f"blk.{layer}.{kind}", gguf.quants.quantize(values, quantised), raw_dtype=quantised)
        writer.add_tensor(f"blk.{layer}.norm", RNG.standard_normal(6, dtype=np.float32))
    writer.add_tensor("half", RNG.standard_normal((2, 3)).astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_gguf_reads_as_the_library_reads_it(model):
    files = open_weights("gguf", [model])
    reader = gguf.GGUFReader(str(model))
    assert set(files.entries) == {t.name for t in reader.tensors}
    for tensor in reader.tensors:
        entry = files.entry(tensor.name)
        assert entry.type == tensor.tensor_type.name and entry.offset == tensor.data_offset
        assert entry.shape == tuple(reversed([int(n) for n in tensor.shape]))
        want = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        got = files.read(tensor.name)
        assert got.dtype == np.float32 and got.shape == entry.shape
        np.testing.assert_array_equal(got, want)
        assert files.digest(tensor.name) == hashlib.sha256(tensor.data.tobytes()).hexdigest()


def test_one_changed_byte_of_a_tensor_changes_one_row_of_the_index(model):
    files = open_weights("gguf", [model])
    before = index_of(files)
    entry = files.entry("blk.1.Q8_0")
    data = bytearray(model.read_bytes())
    data[entry.offset + 5] ^= 1
    (model.parent / "other.gguf").write_bytes(data)
    after = index_of(open_weights("gguf", [model.parent / "other.gguf"]))
    assert [name for name in before if before[name] != after[name]] == ["blk.1.Q8_0"]
    assert str(model).encode() not in index_bytes(files)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_gguf_headers_are_refused_or_read_in_bounds(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    whole = _small_gguf()
    if data.draw(st.booleans()):
        broken = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        broken = whole[:at] + data.draw(st.binary(min_size=1, max_size=8)) + whole[at + 8 :]
    path = folder / "broken.gguf"
    path.write_bytes(broken)
    try:
        files = open_weights("gguf", [path])
    except SpatialError as error:
        assert isinstance(error, Damaged | Unsupported | EnvironmentFault)
        return
    for entry in files.entries.values():
        assert entry.offset >= 0 and entry.offset + entry.size <= len(broken)


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def _small_gguf(offsets: tuple[int, int] = (0, 64), names: tuple[str, str] = ("a", "b")) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 2)
    head += _text("general.alignment") + struct.pack("<II", 4, 32)
    head += _text("list") + struct.pack("<IIQ", 9, 8, 2) + _text("x") + _text("yy")
    for name, offset in zip(names, offsets, strict=True):
        head += _text(name) + struct.pack("<IQQIQ", 2, 4, 4, 0, offset)
    return head + bytes(-len(head) % 32) + bytes(128)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty"),
        (b"GGML" + bytes(40), "begin with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "claims"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version"),
        (_small_gguf((0, 32)), "overlap"),
        (_small_gguf((0, 96)), "past the end"),
        (_small_gguf((0, 2**63)), "past the end"),
        (_small_gguf((0, 33)), "at offset 33"),
        (_small_gguf(names=("a", "a")), "two tensors called a"),
    ],
)
def test_unsound_gguf_files(tmp_path, data, what):
    (tmp_path / "x.gguf").write_bytes(data)
    with pytest.raises((Damaged, Unsupported), match=what):
        open_weights("gguf", [tmp_path / "x.gguf"])


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]], **more) -> bytes:
    header, body = dict(more), b""
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_safetensors(tmp_path):
    values = RNG.standard_normal((3, 4)).astype(np.float32)
    brain = values.astype(ml_dtypes.bfloat16)
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors({
        "b": ("BF16", [3, 4], brain.tobytes()), "a": ("F32", [3, 4], values.tobytes()),
        "h": ("F16", [12], values.astype(np.float16).tobytes()),
    }, __metadata__={"format": "pt"}))  # fmt: skip
    files = open_weights("safetensors", [path])
    np.testing.assert_array_equal(files.read("a"), values)
    np.testing.assert_array_equal(files.read("b"), brain.astype(np.float32))
    np.testing.assert_array_equal(files.read("h"), values.astype(np.float16).astype(np.float32).ravel())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "past its end"),
        (struct.pack("<Q", 2**62), "past its end"),
        (struct.pack("<Q", 4) + b"[1,]", "no JSON"),
        (struct.pack("<Q", 2) + b"[]", "no map"),
        (struct.pack("<Q", 40) + b'{"a":1,"a":2}'.ljust(40), "a name twice"),
        (struct.pack("<Q", 20000) + b"[" * 20000, "no JSON"),
        (safetensors({"a": ("F32", [2], b"1234")}), "does not fit its place"),
        (safetensors({"a": ("F32", [-1], b"1234")}), "shape"),
        (safetensors({"a": ("F64", [1], b"12345678")}), "type F64"),
        (safetensors({"a": ("F32", [1], b"1234")})[:-1], "does not fit its place"),
        (safetensors({}, a={"dtype": "F32"}), "not described"),
    ],
)
def test_unsound_safetensors_files(tmp_path, data, what):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises((Damaged, Unsupported), match=what):
        open_weights("safetensors", [tmp_path / "x"])


def test_npz(tmp_path):
    values = RNG.standard_normal((3, 4)).astype(np.float32)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", a=values, f=np.asfortranarray(values), h=values.astype(np.float16))
        files = open_weights("npz", [tmp_path / "x.npz"])
        np.testing.assert_array_equal(files.read("a"), values)
        np.testing.assert_array_equal(files.read("f"), values)
        np.testing.assert_array_equal(files.read("h"), values.astype(np.float16).astype(np.float32))


def test_unsound_npz_files(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.array([{"an": "object"}], dtype=object))
    with pytest.raises((Damaged, Unsupported)):
        open_weights("npz", [path])
    np.savez(path, a=np.zeros(3))
    with pytest.raises(Unsupported, match="store float32"):
        open_weights("npz", [path])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + b"(" * 118)
    with pytest.raises(Damaged, match="does not read"):
        open_weights("npz", [path])
    path.write_bytes(b"no archive")
    with pytest.raises(Damaged, match="no npz file"):
        open_weights("npz", [path])
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        open_weights("npz", [tmp_path / "absent.npz"])


def test_layers_are_stacked_outermost_and_a_gap_is_named(model):
    source = FileSource("gguf", ("model.gguf",))
    files = open_weights("gguf", [model])
    spec = deployment(source, norm="blk.{layer}.norm", q="blk.{layer}.Q4_1", half="half", x="blk.{layer}.nor")
    values = weight_values(spec, "norm", files, (3, 6))
    np.testing.assert_array_equal(values, np.stack([files.read(f"blk.{n}.norm") for n in range(3)]))
    assert weight_values(spec, "q", files).shape == (3, 4, 64)
    assert weight_values(spec, "q", files, (3 * 4 * 64,)).shape == (768,), "read as one flat row"
    with pytest.raises(Refused, match=r"has shape \[3, 4, 64\].*programs take it for \[2, 4, 64\]"):
        weight_values(spec, "q", files, (2, 4, 64))
    with pytest.raises(Refused, match=r'did you mean "blk\.0\.norm"'):
        weight_values(spec, "x", files)
    kept = {name: e for name, e in files.entries.items() if name != "blk.1.norm"}
    gap = type(files)(files.format, files.paths, kept)
    with pytest.raises(Refused, match=r"layer 1 is missing: there is no tensor blk\.1\.norm"):
        weight_values(spec, "norm", gap)
    with pytest.raises(Unsupported, match="slice"):
        weight_values(deployment(source, h=WeightName("h", "half", Part("rows", 0, 2))), "h", files)


def test_values_that_are_not_finite_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.array([1, np.nan], dtype=np.float32))
    files = open_weights("npz", [tmp_path / "x.npz"])
    with pytest.raises(Refused, match="not finite"):
        weight_values(deployment(FileSource("npz", ("x.npz",)), a="a"), "a", files)


@pytest.mark.parametrize(
    ("found", "wanted", "answer"),
    [((3, 4), (3, 4), True), ((3, 4), (12,), True), ((2, 3, 4), (6, 4), True), ((2, 3, 4), (2, 12), True),
     ((3, 4), (4, 3), False), ((3, 4), (2, 6), False), ((12,), (3, 4), False), ((3, 4), (3,), False),
     ((3, 1, 4), (3, 4), True)],
)  # fmt: skip
def test_axes_merge_row_major(found, wanted, answer):
    assert merges(found, wanted) is answer


def test_fills_by_their_definition():
    got = fill(7, 0.05, 1.0, "blk.0.norm", (3, 7))
    for i in range(21):
        block = hashlib.sha256(f"spatial.fill/1\n7\nblk.0.norm\n{i // 16}".encode()).digest()
        (step,) = struct.unpack_from("<h", block, 2 * (i % 16))
        assert got.ravel()[i] == np.float32(1.0 + 0.05 * step / 32768)
    assert got.ravel()[:3].tobytes().hex() == "cd2c783fb3147e3f1a09773f"


def test_fills_of_layers_do_not_depend_on_their_number():
    spec = deployment(FillSource(7, 0.05, {"norm": 1.0}), norm="blk.{layer}.norm", w="w")
    two, four = (weight_values(spec, "norm", None, (n, 6)) for n in (2, 4))
    np.testing.assert_array_equal(two, four[:2])
    np.testing.assert_array_equal(weight_values(spec, "w", None, (2, 3)).ravel(), weight_values(spec, "w", None, (6,)))
    assert abs(weight_values(spec, "w", None, (4096,)).mean()) < 0.003
    with pytest.raises(Refused, match="no program reads it"):
        weight_values(spec, "w")


def reference_q8_0(block: np.ndarray) -> tuple[list[int], np.float16]:
    """One block, a number at a time, every step rounded to float32."""
    top = max(abs(x) for x in block)
    step = np.float32(top / np.float32(127))
    inverse = np.float32(1) / step if step else np.float32(0)
    scaled = [float(np.float32(x * inverse)) for x in block]
    return [int(abs(x) + 0.5) * (1 if x >= 0 else -1) for x in scaled], np.float16(step)


floats = st.floats(-1e4, 1e4, width=32).filter(lambda x: x == 0 or abs(x) > 1e-30)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float32, (2, 64), elements=floats))
def test_q8_0_equals_the_formula_and_the_library(values):
    ints, scales = quantise_q8_0(values)
    for row, block in np.ndindex(2, 2):
        part = slice(32 * block, 32 * block + 32)
        want = reference_q8_0(values[row, part])
        assert (ints[row, part].tolist(), scales[row, block]) == want
    library = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0).reshape(2, 2, 34)
    assert library[..., :2].tobytes() == scales.tobytes() and library[..., 2:].tobytes() == ints.tobytes()
    np.testing.assert_array_equal(
        dequantise_q8_0(ints, scales), gguf.quants.dequantize(library.reshape(2, 68), gguf.GGMLQuantizationType.Q8_0)
    )


def test_q8_0_rounds_halves_away_from_zero_and_requantises_to_itself():
    block = np.zeros(32, np.float32)
    block[:5] = [127, 0.5, -0.5, 1.5, -2.5]
    ints, scales = quantise_q8_0(block)
    assert ints[:5].tolist() == [127, 1, -1, 2, -3] and scales.tolist() == [1.0]
    again = quantise_q8_0(dequantise_q8_0(ints, scales))
    assert again[0].tolist() == ints.tolist() and again[1].tolist() == scales.tolist()
    assert quantise_q8_0(np.zeros(64, np.float32))[0].any() == 0
    assert quantise_q8_0(np.full(32, 1e-44, np.float32))[0].any() == 0, "1 / d is not finite"


def test_what_cannot_be_q8_0():
    with pytest.raises(Refused, match="blocks of 32"):
        quantise_q8_0(np.zeros((2, 33), np.float32))
    with pytest.raises(Refused, match="does not fit float16"):
        quantise_q8_0(np.full(32, 1e7, np.float32))
