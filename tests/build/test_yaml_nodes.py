"""YAML texts to nodes: YAML 1.2 scalars, places, and everything that is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatial.build.yaml_nodes import MAX_BYTES, Mapping, Node, Scalar, Sequence, parse, plain_value
from spatial.errors import SpecError


def plain(node: Node):
    match node:
        case Mapping():
            return {key.value: plain(value) for key, value in node.entries}
        case Sequence():
            return [plain(item) for item in node.items]
        case Scalar():
            return node.value


def read(text: str):
    return plain(parse(text.encode(), "a.yaml"))


def problems(text: str | bytes) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), "a.yaml")
    return [str(p) for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5), ("on", "on"), ("no", "no"), ("yes", "yes"), ("012", 12), ("0o17", 15), ("0x1F", 31),
        ("+3", 3), ("-7", -7), ("1.", 1.0), (".5", 0.5), ("1_000", "1_000"), ("~", None), ("", None), ("Null", None),
        ("TRUE", True), ("tRUE", "tRUE"), ("2001-01-01", "2001-01-01"), ("1:30", "1:30"), ("-.inf", -math.inf),
        ("0b1", "0b1"), ("=", "="), ("7" * 64, "7" * 64),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema_of_yaml_1_2(text, value):
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


def test_quoted_scalars_are_text():
    assert read("""{a: "1", b: 'true', c: ""}""") == {"a": "1", "b": "true", "c": ""}
    assert read("d: |\n  1\n") == {"d": "1\n"}


@given(st.floats(allow_nan=False))
def test_every_float_reads_back(number):
    assert plain_value(repr(number).replace("inf", ".inf")) == number


def test_places_count_from_one():
    root = parse(b"a: 1\nbc:\n  - x\n  - {d: y}\n", "f.yaml")
    assert isinstance(root, Mapping)
    assert [str(key.place) for key, _ in root.entries] == ["f.yaml:1:1", "f.yaml:2:1"]
    items = root.get("bc")
    assert isinstance(items, Sequence)
    assert [str(item.place) for item in items.items] == ["f.yaml:3:5", "f.yaml:4:5"]


def test_all_problems_at_once():
    found = problems("a: !!str 1\na: 2\n<<: {b: 1}\n3: x\n[1]: y\nc: [1, 2\n")
    assert [line.split(" error: ")[0] for line in found] == [
        "a.yaml:1:4:", "a.yaml:7:1:",
    ]  # fmt: skip
    found = problems("a: !!str 1\na: 2\n<<: {b: 1}\n3: x\n[1]: y\n")
    assert len(found) == 5
    assert all(part in "\n".join(found) for part in ("tag", '"a" twice', "merge key", "the key 3", "a list or map"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: *b", "no anchor"),
        ("a: &b [*b]", "inside its own anchor"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("[" * 40 + "]" * 40, "deep"),
        ("[" * 900 + "]" * 900, "deep"),
        ("a: \t- b: [", "not YAML"),
        (b"a: \xff", "not UTF-8"),
        (b"a: \x01", "not YAML"),
        (b"#" * (MAX_BYTES + 1), "bytes"),
        ("[" + "&a x, " + "*a, " * 300 + "]", "too many aliases"),
    ],
)
def test_refusals(text, part):
    assert part in problems(text)[-1]


def test_aliases_share_nodes_and_cannot_multiply_without_end():
    assert read("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "too many values" in problems(bomb)[-1]


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused_as_a_spec_error(text):
    try:
        parse(text.encode("utf-8", "surrogatepass"), "a.yaml")
    except SpecError as error:
        assert error.problems
