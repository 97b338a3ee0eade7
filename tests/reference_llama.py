"""A Llama-shaped model in float64 numpy, written to be read: the witness that programs on chips are held to.

It shares no code with `spatial`, and is itself held to published figures (`tests/test_reference_llama.py`). Weights are
arrays by the names our deployments give them, stacked over layers:

    embed [vocab, width]                       the table of tokens, and the head
    attn_norm, ffn_norm [layers, width]        output_norm [width]
    wq, wo [layers, width, width]              wk, wv [layers, kv, width]
    wgate, wup [layers, ffn, width]            wdown [layers, width, ffn]

A matrix row makes one output. T stands for the tokens of one call, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Weights = Mapping[str, npt.NDArray[Any]]

MATRICES = {
    "wq": "attn_q",
    "wk": "attn_k",
    "wv": "attn_v",
    "wo": "attn_output",
    "wgate": "ffn_gate",
    "wup": "ffn_up",
    "wdown": "ffn_down",
}
"""Our names of the matrices of a layer, and a GGUF file's."""


@dataclass(frozen=True)
class Geometry:
    """`heads` query heads of `head` elements share `groups` key-value heads; `base` and `eps` of rotary and norm."""

    heads: int
    groups: int
    head: int
    base: float = 100000.0
    eps: float = float(np.float32(1e-5))


SMOLLM2 = Geometry(heads=9, groups=3, head=64)


class Llama:
    """The model with its cache. After each call `trace` has what it computed on the way, by name (see `_layer`).

    `keys`, `values`: [layers, positions so far, kv], keys after the rotation.
    """

    def __init__(self, weights: Weights, geometry: Geometry) -> None:
        self.weights, self.geometry = weights, geometry
        layers, kv = weights["wk"].shape[:2]
        self.keys: Array = np.zeros((layers, 0, kv))
        self.values: Array = np.zeros((layers, 0, kv))
        self.trace: dict[str, Array] = {}

    def prefill(self, ids: Sequence[int]) -> Array:
        """Read `ids` after what was read before; the logits [vocab] that follow the last of them."""
        return self.logits(ids)[-1]

    def decode(self, token: int) -> Array:
        """Read one token; the logits [vocab] that follow it."""
        return self.logits([token])[-1]

    def logits(self, ids: Sequence[int]) -> Array:
        """Read `ids` after what was read before; the logits [T, vocab] that follow each of them.

        `trace` gains `embedding` [T, width], `output_norm` [T, width], `logits` [T, vocab], and for each layer what
        `_layer` names, stacked [layers, T, …].
        """
        steps: dict[str, list[Array]] = {}
        embed = np.asarray(self.weights["embed"], np.float64)
        x = embed[np.asarray(ids)]
        trace = {"embedding": x}
        layers, read, kv = self.keys.shape
        room = np.zeros((layers, len(ids), kv))
        self.keys = np.concatenate([self.keys, room], axis=1)
        self.values = np.concatenate([self.values, room], axis=1)
        for layer in range(layers):
            x = self._layer(layer, read, x, steps)
        trace["output_norm"] = norm(x, self.weights["output_norm"], self.geometry.eps)
        trace["logits"] = trace["output_norm"] @ embed.T
        self.trace = trace | {name: np.stack(arrays) for name, arrays in steps.items()}
        return trace["logits"]

    def _layer(self, layer: int, read: int, x: Array, steps: dict[str, list[Array]]) -> Array:
        """The residual stream [T, width] after `layer`, `read` tokens being in the cache before these."""
        g = self.geometry

        def keep(name: str, value: Array) -> Array:
            steps.setdefault(name, []).append(value)
            return value

        def matrix(name: str) -> Array:
            return np.asarray(self.weights[name][layer], np.float64).T

        positions = read + np.arange(len(x))
        h = keep("attn_norm", norm(x, self.weights["attn_norm"][layer], g.eps))
        q, k, v = (keep(name, h @ matrix(f"w{name}")) for name in "qkv")
        q = keep("q_rope", rotate(q, positions, g))
        self.keys[layer, read:] = keep("k_rope", rotate(k, positions, g))
        self.values[layer, read:] = v
        mixed = keep("attention", attend(q, self.keys[layer], self.values[layer], positions, g))
        x = keep("after_attention", x + mixed @ matrix("wo"))
        h = keep("ffn_norm", norm(x, self.weights["ffn_norm"][layer], g.eps))
        gate, up = keep("ffn_gate", h @ matrix("wgate")), keep("ffn_up", h @ matrix("wup"))
        act = keep("ffn_act", gate / (1 + np.exp(-gate)) * up)
        return keep("hidden", x + act @ matrix("wdown"))


def norm(x: Array, weight: npt.NDArray[Any], eps: float) -> Array:
    """Rows of `x` over their root mean square, times `weight`."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * np.asarray(weight, np.float64)


def rotate(x: Array, positions: npt.NDArray[np.int64], geometry: Geometry) -> Array:
    """Rows of `x` [T, heads * head], neighbours (2i, 2i + 1) of each head turned by position * base^(-2i/head)."""
    head = geometry.head
    angles = positions[:, None] * geometry.base ** (-np.arange(0, head, 2) / head)
    turns = np.exp(1j * angles)[:, None, :]
    pairs = x.reshape(len(x), -1, head // 2, 2)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * turns
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def attend(q: Array, keys: Array, values: Array, positions: npt.NDArray[np.int64], geometry: Geometry) -> Array:
    """Mixtures of `values` [P, kv] for queries `q` [T, heads * head]; none looks past its own of `positions`."""
    g = geometry
    queries = q.reshape(len(q), g.groups, g.heads // g.groups, g.head)
    table = keys.reshape(len(keys), g.groups, g.head)
    scores = np.einsum("tgae,pge->tgap", queries, table) / np.sqrt(g.head)
    ahead = np.arange(len(keys)) > positions[:, None]
    scores = np.where(ahead[:, None, None, :], -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = np.einsum("tgap,pge->tgae", weights, values.reshape(table.shape))
    return mixed.reshape(q.shape)


# ---------------------------------------------------------------- the real model's weights


def gguf_weights(path: Path, variant: str) -> dict[str, npt.NDArray[np.float32]]:
    """The weights of the Llama-shaped model in the GGUF file at `path`, exact in float32.

    Variant "A": as dequantised; "B": every matrix quantised to Q8_0 and dequantised again.
    """
    import gguf

    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}

    def read(name: str) -> npt.NDArray[np.float32]:
        found = np.asarray(gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type), np.float32)
        return through_q8_0(found) if variant == "B" and found.ndim == 2 else found

    layers = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("blk."))

    def stacked(name: str) -> npt.NDArray[np.float32]:
        return np.stack([read(f"blk.{layer}.{name}.weight") for layer in range(layers)])

    weights = {ours: stacked(theirs) for ours, theirs in MATRICES.items()}
    weights |= {name: stacked(name) for name in ("attn_norm", "ffn_norm")}
    return weights | {"embed": read("token_embd.weight"), "output_norm": read("output_norm.weight")}


def through_q8_0(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """`values` quantised to Q8_0 along the last axis and back: what ggml's reference quantisation keeps of them.

    In float32: the scale of 32 values is their largest magnitude over 127; integers come from the reciprocal of that
    scale, halves away from zero; the scale itself is kept in float16.
    """
    blocks = values.reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    scaled = blocks * inverse
    whole = np.trunc(scaled)
    integers = whole + np.where(np.abs(scaled - whole) >= np.float32(0.5), np.sign(scaled), np.float32(0))
    return (integers * scale.astype(np.float16).astype(np.float32)).reshape(values.shape)
