"""The shipped Llama sources under chosen sizes: their programs, facts, and drawn weights and caches."""

from __future__ import annotations

from pathlib import Path

from lifting import Array, Facts, Table, floats, parse_files

from spatial.logos.syntax import Program

SOURCES = Path(__file__).parents[1] / "deployments" / "llama"
WEIGHTS = ["embed", "attn_norm", "wq", "wk", "wv", "wo", "ffn_norm", "wgate", "wup", "wdown", "output_norm"]
SMALL = {"layers": 2, "width": 8, "heads": 4, "groups": 2, "head": 2, "ffn": 12, "vocab": 11, "positions": 6, "rows": 3}
REAL = {
    "layers": 30,
    "width": 576,
    "heads": 9,
    "groups": 3,
    "head": 64,
    "ffn": 1536,
    "vocab": 49152,
    "positions": 256,
    "rows": 32,
}


def facts(**sizes: int) -> Facts:
    sizes = {**sizes, "kv": sizes["groups"] * sizes["head"]}
    positions, rows, vocab = sizes["positions"], sizes["rows"], sizes["vocab"]
    cache = Table((sizes["layers"], positions, sizes["kv"]), "float", None, True)
    tables = {
        "tokens": Table((rows,), "int", (0, vocab - 1)),
        "start": Table((1,), "int", (0, positions - rows)),
        "count": Table((1,), "int", (1, rows)),
        "token": Table((1,), "int", (0, vocab - 1)),
        "position": Table((1,), "int", (0, positions - 1)),
        "k_cache": cache,
        "v_cache": cache,
    }
    return Facts(sizes, tables, WEIGHTS)


def program(name: str) -> Program:
    return parse_files([(f, (SOURCES / f).read_text()) for f in ("layers.lg", name)])


def weights(
    layers: int, width: int, heads: int, groups: int, head: int, ffn: int, vocab: int, **_: int
) -> dict[str, Array]:
    shapes = {
        "embed": (vocab, width),
        "attn_norm": (layers, width),
        "wq": (layers, heads * head, width),
        "wk": (layers, groups * head, width),
        "wv": (layers, groups * head, width),
        "wo": (layers, width, heads * head),
        "ffn_norm": (layers, width),
        "wgate": (layers, ffn, width),
        "wup": (layers, ffn, width),
        "wdown": (layers, width, ffn),
        "output_norm": (width,),
    }
    return {name: floats(n, *shape) for n, (name, shape) in enumerate(shapes.items())}


def caches(seed: int, layers: int, positions: int, groups: int, head: int, **_: int) -> dict[str, Array]:
    return {name: floats(seed + n, layers, positions, groups * head) for n, name in enumerate(("k_cache", "v_cache"))}
