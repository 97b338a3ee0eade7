"""Deployment specs: the full form reads, and every mistake of a file is reported at once with place and mend."""

from pathlib import Path

import pytest

from spatial.build.deployment import Deployment, FileSource, FillSource, Part, Span, Table, require_one_chip
from spatial.build.schema import PRECISIONS
from spatial.build.spec import load_deployment, load_deployments
from spatial.errors import SpecError, Unsupported

LLAMA = """\
schema: 1
target: wormhole-n150
sizes: {layers: 30, width: 576, heads: 9, kv: 192, vocab: 49152, positions: 256, rows: 32}
numerics: {integers: exact, floats: widest}
weights:
  source: {gguf: Model.Q4_1.gguf, from: "some-model==0.1.2", sha256: DIGEST}
  names:
    embed: token_embd.weight
    attn_norm: "blk.{layer}.attn_norm.weight"
    wq: "blk.{layer}.attn_q.weight"
    wk: "blk.{layer}.attn_k.weight"
    output_norm: output_norm.weight
  stored: {embed: q8_0, "w*": q8_0, "*norm": f32}
tables:
  tokens:   {shape: [rows], type: Int, range: [0, vocab - 1]}
  start:    {shape: [1], type: Int, range: [0, positions - rows]}
  count:    {shape: [1], type: Int, range: [1, rows]}
  token:    {shape: [1], type: Int, range: [0, vocab - 1]}
  position: {shape: [1], type: Int, range: [0, positions - 1]}
  k_cache:  {shape: [layers, positions, kv], type: Float, state: true, precision: bf16}
dense: auto
programs:
  prefill: {source: llama/prefill.lg, results: [logits]}
  decode:  {source: [llama/layers.lg, llama/decode.lg],  results: [logits]}
generate: {prefill: prefill, decode: decode, tokens: tokens, start: start, count: count, token: token,
           position: position, logits: logits, stop: [2]}
assume: ["start + count <= positions"]
""".replace("DIGEST", "b1" * 32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "deployments"
    (made / "llama").mkdir(parents=True)
    for name in ("prefill", "decode", "layers"):
        (made / "llama" / f"{name}.lg").write_text("## Main\n")
    return made


def read(folder: Path, text: str, name: str = "llama", **more) -> Deployment:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return load_deployment(path, **more)


def errors(folder: Path, text: str, **more) -> list[str]:
    with pytest.raises(SpecError) as caught:
        read(folder, text, **more)
    return [str(p).removeprefix(f"{folder}/") for p in caught.value.problems]


def test_the_full_form(folder):
    spec = read(folder, LLAMA)
    assert spec.tables["tokens"] == Table("tokens", (32,), "Int", (0, 49151))
    assert spec.tables["start"].range == (0, 224)
    assert spec.tables["k_cache"] == Table("k_cache", (30, 256, 192), "Float", None, True, "bf16")
    assert spec.weights.source == FileSource("gguf", ("Model.Q4_1.gguf",), "some-model==0.1.2", "b1" * 32)
    assert spec.weights.names["wq"].stacked and not spec.weights.names["embed"].stacked
    q8, f32 = ("embed", "wq", "wk"), ("attn_norm", "output_norm")
    assert spec.weights.stored == dict.fromkeys(q8, "q8_0") | dict.fromkeys(f32, "f32")
    assert spec.programs["decode"].sources == (folder / "llama/layers.lg", folder / "llama/decode.lg")
    assert spec.programs["decode"].numerics == {"integers": "exact", "floats": "widest"}
    assert spec.generate is not None and spec.generate.logits == ("logits",) and spec.generate.stop == (2,)
    assert spec.assume[0].holds({"start": 224, "count": 32})
    assert spec.dense == "auto"
    assert spec.files == (folder / "llama.yaml",)
    place = spec.place("tables.k_cache.precision")
    assert place is not None and place.line == 20


def test_key_order_comments_and_quoting_do_not_matter(folder):
    lines = LLAMA.replace("target: wormhole-n150\n", "")
    again = "# said otherwise\n\"target\": 'wormhole-n150'\n" + lines.replace("dense: auto\n", "")
    assert read(folder, again) == read(folder, LLAMA)


def test_three_mistakes_are_three_messages(folder):
    text = LLAMA.replace("positions - rows", "position - rows").replace("type: Float", "type: float")
    text = text.replace("prefill.lg", "prefil.lg")
    found = errors(folder, text)
    places = [line.split(" error: ")[0] for line in found]
    assert places == ["llama.yaml:16:48:", "llama.yaml:20:52:", "llama.yaml:23:21:"]
    assert 'did you mean "positions"?' in found[0]
    assert "Int or Float" in found[1]
    assert 'did you mean "llama/prefill.lg"?' in found[2]


def change(old: str, new: str):
    assert old in LLAMA
    return LLAMA.replace(old, new)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (change("schema: 1\n", ""), ["has no schema"]),
        (change("schema: 1", "schema: 2"), ["schema is 2"]),
        (change("tables:", "tabels:"), ['no field of the spec is called "tabels"', 'did you mean "tables"?']),
        (change("layers: 30", "layers: three"), ['size layers is "three"', "an integer"]),
        (change("vocab: 49152", "embed: 49152, vocab: 2"), ['"embed" is a size and a weight']),
        (change("[1, rows]", "[rows, 1]"), ["range of table count is empty"]),
        (change("[1, rows]", "[1]"), ["it has two"]),
        (change("[1, rows]", "[1.5, rows]"), ["an integer is wanted"]),
        (change("shape: [rows]", "shape: [rows - rows]"), ["extent 0"]),
        (change("precision: bf16", "precision: i8"), ["is Float and stored as i8"]),
        (change("[1, rows]", "[1, rows], precision: i8"), []),
        (change("[0, positions - 1]", "[0, positions - 1], precision: i8"), ["i8 does not hold"]),
        (change("state: true", "state: yes"), ["true or false"]),
        (change("state: true", "state: true, range: [1, 2]"), ["leaves out 0"]),
        (change('"w*": q8_0', '"x*": q8_0'), ['"x*" matches no name']),
        (change('"w*": q8_0', '"w*": q8_0, wq: f32'), ['"wq" is matched twice']),
        (change('"w*": q8_0', '"w*": q4_0'), ['stored.wq is "q4_0"']),
        (change("some-model==0.1.2", "some-model"), ["a version is pinned"]),
        (change("some-model==0.1.2", "--index-url==1"), ["a version is pinned"]),
        (change(", sha256: " + "b1" * 32, ""), ["without sha256"]),
        (change("b1" * 32, "b1"), ["no digest"]),
        (change("gguf: Model.Q4_1.gguf", "gguf: ../Model.gguf"), ["without folders"]),
        (change("gguf: Model.Q4_1.gguf", "gguf: a.gguf, npz: b.npz"), ["2 kinds of source"]),
        (change("{layer}.attn_q", "{layers}.attn_q"), ["{layers}"]),
        (change("llama/prefill.lg", "../outside.lg"), ["must lie under"]),
        (change("llama/prefill.lg", "/etc/hostname"), ["must lie under"]),
        (change("llama/prefill.lg", "llama/prefil.lg"), ["there is no file", 'did you mean "llama/prefill.lg"?']),
        (change("source: llama/prefill.lg", "source: []"), ["program prefill has no source"]),
        (change("prefill.lg, results: [logits]", "prefill.lg, results: [logits, logits]"), ['names "logits" twice']),
        (change("  prefill: {", "  Prefill: {"), ['the name of a program is "Prefill"']),
        (change("token: token", "token: tokem"), ['no table is called "tokem"', 'did you mean "token"']),
        (change("logits: logits", "logits: logit"), ['no result of program prefill is called "logit"']),
        (change("decode: decode,", ""), ["generate has no decode"]),
        (change("stop: [2]", "stop: [-2]"), ["generate.stop is -2"]),
        (change("start + count <=", "start + tokens <="), ['no size is called "tokens"']),
        (change("dense: auto", "dense: [k_cash]"), ['did you mean "k_cache"?']),
        (change("floats: widest", "floats: wide"), ['did you mean "widest"?']),
        (change("{integers: exact, floats: widest}", "[exact]"), ["numerics is a list"]),
        (LLAMA + "chips: {count: 2, fabric: wire}", ["chips.fabric"]),
        ("- 1\n", ["the spec is no map"]),
        ("", ["the spec is no map"]),
    ],
)  # fmt: skip
def test_mistakes(folder, text, parts):
    if not parts:
        read(folder, text)
        return
    found = errors(folder, text)
    assert all(part in "\n".join(found) for part in parts), found


def test_targets_are_looked_up_where_the_folder_is_known(folder, tmp_path):
    targets = tmp_path / "targets"
    targets.mkdir()
    (targets / "wormhole-n150.yaml").write_text("")
    read(folder, LLAMA, targets=targets)
    found = errors(folder, change("wormhole-n150", "wormhole-n15"), targets=targets)
    assert 'did you mean "wormhole-n150"?' in found[0]


def test_no_folder_is_proposed_for_a_file(folder):
    (folder / "llama/prefill").mkdir()
    said = errors(folder, change("llama/prefill.lg", "llama/prefill"))[0]
    assert "there is no file" in said and 'did you mean "llama/prefill.lg"?' in said


def test_sources_reached_through_a_link_are_refused(folder, tmp_path):
    (tmp_path / "secret.lg").write_text("## Main\n")
    (folder / "llama" / "link.lg").symlink_to(tmp_path / "secret.lg")
    assert "by a link" in errors(folder, change("llama/prefill.lg", "llama/link.lg"))[0]


def test_extends_merges_replaces_and_deletes(folder):
    read(folder, LLAMA)
    text = "schema: 1\nextends: llama.yaml\ntarget: reference\ngenerate: null\nassume: null\n"
    text += "tables: {tokens: {shape: [2]}, k_cache: {precision: null}}\nprograms: {decode: null}\n"
    spec = read(folder, text, "small")
    assert (spec.target, set(spec.programs), spec.generate, spec.assume) == ("reference", {"prefill"}, None, ())
    assert spec.tables["tokens"] == Table("tokens", (2,), "Int", (0, 49151))
    assert spec.tables["k_cache"].precision is None
    assert spec.weights == load_deployment(folder / "llama.yaml").weights
    assert spec.files == (folder / "small.yaml", folder / "llama.yaml")
    assert read(folder, text.replace("llama.yaml", "llama"), "small") == spec


def test_problems_in_what_is_extended_name_that_file(folder):
    (folder / "llama" / "common.yaml").write_text("sizes: {a: b}\n")
    assert errors(folder, LLAMA + "extends: llama/common.yaml\n")[0].startswith("llama/common.yaml:1:12: error: size a")


def test_specs_that_extend_each_other_in_a_circle(folder):
    (folder / "other.yaml").write_text("extends: llama\n")
    assert "in a circle" in errors(folder, "extends: other\n")[0]


def test_chips_slices_and_manifests_are_kept_and_refused_by_name(folder):
    (folder / "llama" / "tp3.yaml").write_text(
        "chips: 3\nchip_of: {embed: 0, 'wq_1': 1}\ncollectives:\n  - {out: sum, partials: [p_0, p_1, p_2]}\n"
    )
    sliced = '"wq_{chip}": {from: "blk.{layer}.attn_q.weight", rows: "{chip}/3"}\n    wz: {from: z, cols: [2, 5]}'
    text = change('wq: "blk.{layer}.attn_q.weight"', sliced)
    text += "chips: {count: 3, fabric: links, manifest: llama/tp3.yaml}\n"
    spec = read(folder, text)
    assert spec.weights.names["wq_2"].slice == Part("rows", 2, 3)
    assert spec.weights.names["wz"].slice == Span("cols", 2, 5)
    assert spec.chips is not None and spec.chips.manifest is not None
    assert spec.chips.manifest.collectives[0].partials == ("p_0", "p_1", "p_2")
    with pytest.raises(Unsupported, match="tensor parallelism"):
        require_one_chip(spec)
    require_one_chip(read(folder, LLAMA))
    assert "for 3 chips" in errors(folder, text.replace("count: 3", "count: 2"))[0]
    assert "the deployment has no chips" in "\n".join(errors(folder, text.split("chips: {")[0]))


def test_a_seeded_fill(folder):
    fill = '{fill: {seed: 7, scale: 0.05, around: {"*norm": 1}}}'
    text = "\n".join(f"  source: {fill}" if line.startswith("  source") else line for line in LLAMA.splitlines())
    assert read(folder, text).weights.source == FillSource(7, 0.05, {"attn_norm": 1.0, "output_norm": 1.0})
    assert "do not fit float32" in errors(folder, text.replace("0.05", "1e39"))[0]
    assert "do not fit float32" in errors(folder, text.replace('"*norm": 1', '"*norm": 1e39'))[0]
    assert "fill has no scale" in errors(folder, text.replace("scale: 0.05, ", ""))[0]
    assert "matches no name" in errors(folder, text.replace('"*norm": 1', "norm: 1"))[0]


def test_broken_specs_are_values_and_leave_the_others_alone(folder):
    read(folder, LLAMA)
    (folder / "broken.yaml").write_text("a: [")
    (folder / "Bad Name.yaml").write_text(LLAMA)
    (folder / "llama" / "inner.yaml").write_text("not: a deployment")
    found = load_deployments(folder)
    assert list(found) == ["Bad Name", "broken", "llama"]
    assert isinstance(found["llama"], Deployment)
    assert isinstance(found["broken"], SpecError) and isinstance(found["Bad Name"], SpecError)
    assert load_deployments(folder / "nowhere") == {}


def test_the_precision_words_are_those_of_numerics():
    from spatial import numerics

    assert set(PRECISIONS) == {*numerics.PRECISIONS, "q8_0"}
