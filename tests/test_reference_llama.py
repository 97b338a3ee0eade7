"""The float64 reference against itself (seconds) and against published figures of a real model (mark `model`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reference_llama import SMOLLM2, Geometry, Llama, gguf_weights, rotate, through_q8_0

DATA = Path(__file__).parent / "data" / "smollm2"
GOLDEN: dict[str, Any] = json.loads((DATA / "golden.json").read_text())
TINY = Geometry(heads=4, groups=2, head=6)


def tiny_weights() -> dict[str, npt.NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    layers, width, kv, ffn, vocab = 3, 24, 12, 40, 50
    shapes = {
        "embed": (vocab, width), "attn_norm": (layers, width), "ffn_norm": (layers, width), "output_norm": (width,),
        "wq": (layers, width, width), "wk": (layers, kv, width), "wv": (layers, kv, width),
        "wo": (layers, width, width), "wgate": (layers, ffn, width), "wup": (layers, ffn, width),
        "wdown": (layers, width, ffn),
    }  # fmt: skip
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def test_tokens_read_together_in_chunks_or_one_by_one_are_the_same() -> None:
    weights, ids = tiny_weights(), [3, 1, 4, 1, 5, 9, 2, 6]
    whole, chunks, single = (Llama(weights, TINY) for _ in range(3))
    expected = whole.logits(ids)
    np.testing.assert_allclose(np.concatenate([chunks.logits(ids[:3]), chunks.logits(ids[3:])]), expected, rtol=1e-11)
    np.testing.assert_allclose(np.stack([single.decode(token) for token in ids]), expected, rtol=1e-11)
    np.testing.assert_allclose(single.keys, whole.keys, rtol=1e-11)
    assert whole.trace["hidden"].shape == (3, 8, 24)


def test_a_token_does_not_see_those_after_it() -> None:
    weights = tiny_weights()
    first, second = (Llama(weights, TINY).logits(ids) for ids in ([7, 8, 9], [7, 8, 40]))
    np.testing.assert_array_equal(first[:2], second[:2])
    assert np.abs(first[2] - second[2]).max() > 0.1


def test_rotated_products_depend_on_distance_alone() -> None:
    rng = np.random.default_rng(6)
    q, k = rng.normal(size=(2, 1, 24))
    products = [np.sum(rotate(q, np.array([p + 3]), TINY) * rotate(k, np.array([p]), TINY)) for p in (0, 1, 50, 1000)]
    np.testing.assert_allclose(products, products[0], rtol=1e-10)
    np.testing.assert_array_equal(rotate(q, np.array([0]), TINY), q)
    quarter = rotate(np.eye(1, 6), np.array([1]), Geometry(heads=1, groups=1, head=6))
    np.testing.assert_allclose(quarter, [[np.cos(1), np.sin(1), 0, 0, 0, 0]], atol=1e-15)


def test_groups_share_keys_as_if_each_head_had_its_copy() -> None:
    weights = tiny_weights()
    copied = weights | {
        name: np.repeat(weights[name].reshape(3, 2, 6, 24), 2, axis=1).reshape(3, 24, 24) for name in ("wk", "wv")
    }
    alone = Geometry(heads=4, groups=4, head=6)
    ids = [11, 12, 13]
    np.testing.assert_allclose(Llama(copied, alone).logits(ids), Llama(weights, TINY).logits(ids), rtol=1e-11)


def test_q8_0_keeps_what_ggml_keeps() -> None:
    import gguf

    values = np.random.default_rng(7).normal(size=(64, 96)).astype(np.float32)
    values[3, :32] = 0
    q8 = gguf.GGMLQuantizationType.Q8_0
    expected = gguf.quants.dequantize(gguf.quants.quantize(values, q8), q8)
    np.testing.assert_array_equal(through_q8_0(values), expected)
    np.testing.assert_array_equal(through_q8_0(np.float32([[127, 0.5, -2.5, 1.49] * 8]))[0, :4], [127, 1, -3, 1])


# ---------------------------------------------------------------- the real model


@pytest.fixture(scope="module", params=["A", "B"])
def variant(request: pytest.FixtureRequest, model_file: Path) -> tuple[str, dict[str, npt.NDArray[np.float32]]]:
    return request.param, gguf_weights(model_file, request.param)


@pytest.mark.model
@pytest.mark.parametrize("prompt", GOLDEN["prompts"], ids=[p["name"] for p in GOLDEN["prompts"]])
def test_it_meets_the_golden_figures(prompt: dict[str, Any], variant: tuple[str, Any]) -> None:
    name, weights = variant
    golden, ids = prompt[name], prompt["prompt_ids"]
    logits = Llama(weights, SMOLLM2).logits([*ids, *golden["continuation"]])[len(ids) - 1 :]
    assert logits[:24].argmax(axis=1).tolist() == golden["continuation"]
    best = np.sort(logits[:24], axis=1)
    np.testing.assert_allclose(best[:, -1] - best[:, -2], golden["margin"], atol=1e-6, rtol=0)
    for step, stored in golden["logits"].items():
        vector = logits[0 if step == "prompt_last" else int(step.removeprefix("step_"))]
        assert np.argsort(-vector)[:10].tolist() == stored["top_ids"]
        found = np.concatenate([vector[stored["top_ids"]], vector[stored["probe_ids"]]])
        np.testing.assert_allclose(found, stored["top_logits"] + stored["probe_logits"], atol=1e-6, rtol=0)
        most = vector.max()
        whole = (most + np.log(np.exp(vector - most).sum()), vector.mean(), np.linalg.norm(vector))
        np.testing.assert_allclose(whole, [stored[key] for key in ("logsumexp", "mean", "l2")], atol=1e-6, rtol=0)


@pytest.mark.model
def test_it_meets_the_trace_to_its_last_float32_bit_or_the_one_beside(variant: tuple[str, Any]) -> None:
    """Two float64 computations differ near 1e-13; rounded to float32 that is at most one unit in the last place."""
    name, weights = variant
    stored = np.load(DATA / "trace_capital.npz")
    model = Llama(weights, SMOLLM2)
    model.prefill(stored["prompt_ids"].tolist())
    computed = {
        **{key: model.trace[key][-1] for key in ("embedding", "output_norm", "logits")},
        "hidden": model.trace["hidden"][:, -1],
        "k_rows": model.keys.reshape(30, 5, 3, 64),
        "v_rows": model.values.reshape(30, 5, 3, 64),
    }
    for key in (
        "attn_norm", "q", "k", "v", "q_rope", "k_rope", "attention", "after_attention", "ffn_norm", "ffn_gate",
        "ffn_up", "ffn_act",
    ):  # fmt: skip
        computed[f"blk0_{key}"] = model.trace[key][0, -1]
    computed["blk0_out"] = model.trace["hidden"][0, -1]
    assert {f"{name}_{key}" for key in computed} == {key for key in stored if key.startswith(f"{name}_")}
    for key, value in computed.items():
        expected = stored[f"{name}_{key}"]
        np.testing.assert_allclose(value.reshape(expected.shape), expected, rtol=2.0**-23, atol=1e-11, err_msg=key)
