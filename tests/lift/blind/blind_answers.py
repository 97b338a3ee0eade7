"""What each program of this folder should compute, as array expressions of numpy written beside the programs.

One function a program, under its name: from the sizes and tables by name to the results and the states afterwards.
None copies the program's loops: where the program walks, the answer multiplies, convolves or sorts whole arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Given = Mapping[str, Any]
Answer = Callable[[Given], dict[str, Any]]

_erf = np.vectorize(math.erf, otypes=[float])


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _normed(x: Any, g: Any, b: Any, eps: float) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * g + b


def _attended(q: Any, k: Any, v: Any, seen: Any, bias: Any = 0.0) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]) + bias
    return _softmax(np.where(seen, scores, -np.inf)) @ v


def _lags(n: int) -> Any:
    return np.arange(n)[:, None] - np.arange(n)[None, :]


def cross_entropy(g: Given) -> dict[str, Any]:
    losses = -np.log(np.take_along_axis(_softmax(g["logits"]), g["labels"][:, None], 1)[:, 0])
    return {"losses": losses, "loss": losses.mean()}


def mqa_window(g: Given) -> dict[str, Any]:
    n, lags = g["tokens"], _lags(g["tokens"])
    seen = (lags >= 0) & (lags < g["window"])
    q = g["q"].reshape(n, g["heads"], g["head"]).transpose(1, 0, 2)
    return {"y": _attended(q, g["k"], g["v"], seen).transpose(1, 0, 2).reshape(n, -1)}


def moe_top1(g: Given) -> dict[str, Any]:
    pick = (g["x"] @ g["router"].T).argmax(1)
    hidden = np.maximum(np.einsum("twd,td->tw", g["up"][pick], g["x"]), 0)
    return {"y": np.einsum("tdw,tw->td", g["down"][pick], hidden), "picked": pick + 1}


def moe_dense(g: Given) -> dict[str, Any]:
    made = np.maximum(np.einsum("eij,tj->tei", g["w"], g["x"]) + g["b"], 0)
    return {"y": np.einsum("te,tei->ti", _softmax(g["x"] @ g["gate"].T), made)}


def depthwise(g: Given) -> dict[str, Any]:
    rows = [np.convolve(np.pad(x, g["taps"] // 2), k[::-1], "valid") for x, k in zip(g["x"], g["kernel"], strict=True)]
    return {"y": np.array(rows) + g["bias"][:, None]}


def average_pool(g: Given) -> dict[str, Any]:
    padded = np.pad(g["x"], 1, constant_values=np.nan)
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))[::2, ::2]
    return {"y": np.nanmean(views, axis=(2, 3))}


def batch_norm(g: Given) -> dict[str, Any]:
    return {"y": (g["x"] - g["mean"]) / np.sqrt(g["variance"] + 1e-5) * g["gamma"] + g["beta"]}


def group_norm(g: Given) -> dict[str, Any]:
    flat = _normed(g["x"].reshape(g["groups"], -1), 1.0, 0.0, 1e-5).reshape(g["x"].shape)
    return {"y": flat * g["gamma"][:, None] + g["beta"][:, None]}


def embedding_bag(g: Given) -> dict[str, Any]:
    return {"y": g["words"][g["ids"]].mean(1)}


def cosine_matrix(g: Given) -> dict[str, Any]:
    sizes = np.outer(np.linalg.norm(g["a"], axis=1), np.linalg.norm(g["b"], axis=1))
    return {"y": g["a"] @ g["b"].T / np.maximum(sizes, 1e-8)}


def kmeans_assign(g: Given) -> dict[str, Any]:
    far = ((g["points"][:, None] - g["centres"]) ** 2).sum(-1)
    return {"nearest": far.argmin(1) + 1, "distance": far.min(1)}


def pagerank(g: Given) -> dict[str, Any]:
    fresh = 0.15 / g["n"] + 0.85 * g["rank"] @ g["links"]
    return {"moved": np.abs(fresh - g["rank"]).sum(), "rank": fresh}


def jacobi(g: Given) -> dict[str, Any]:
    pivots = np.diag(g["a"])
    x = np.zeros(g["n"])
    for _ in range(4):
        x = (g["b"] - (g["a"] - np.diag(pivots)) @ x) / pivots
    return {"y": x}


def prefix_sum(g: Given) -> dict[str, Any]:
    return {"y": np.cumsum(g["x"])}


def horner(g: Given) -> dict[str, Any]:
    return {"y": np.polyval(g["c"], g["x"])}


def alibi(g: Given) -> dict[str, Any]:
    lags, slopes = _lags(g["tokens"]), 2.0 ** (-8 * np.arange(1, g["heads"] + 1) / g["heads"])
    return {"y": _attended(g["q"], g["k"], g["v"], lags >= 0, -slopes[:, None, None] * lags)}


def lstm_cell(g: Given) -> dict[str, Any]:
    i, f, n, o = np.split(g["wx"] @ g["x"] + g["wh"] @ g["h"] + g["b"], 4)
    c = _sigmoid(f) * g["c"] + _sigmoid(i) * np.tanh(n)
    h = _sigmoid(o) * np.tanh(c)
    return {"y": h, "h": h, "c": c}


def gru_cell(g: Given) -> dict[str, Any]:
    r = _sigmoid(g["wr"] @ g["x"] + g["ur"] @ g["h"])
    z = _sigmoid(g["wz"] @ g["x"] + g["uz"] @ g["h"])
    y = (1 - z) * np.tanh(g["wn"] @ g["x"] + r * (g["un"] @ g["h"])) + z * g["h"]
    return {"y": y, "h": y}


def ema_series(g: Given) -> dict[str, Any]:
    lags = _lags(g["steps"])
    share = np.where(lags >= 0, 0.1 * 0.9 ** np.maximum(lags, 0), 0.0)
    return {"y": share @ g["x"] + 0.9 ** np.arange(1, g["steps"] + 1) * g["x"][0]}


def ema_state(g: Given) -> dict[str, Any]:
    average = g["average"] + 0.05 * (g["x"] - g["average"])
    return {"y": average[-1, -1], "average": average}


def fir(g: Given) -> dict[str, Any]:
    return {"y": np.convolve(g["x"], g["h"])[: g["n"]]}


def iir(g: Given) -> dict[str, Any]:
    lags = _lags(g["n"])
    ahead = (lags == 0) - 0.5 * (lags == 1) + 0.25 * (lags == 2)
    behind = 0.2 * (lags == 0) + 0.3 * (lags == 1)
    return {"y": np.linalg.solve(ahead, behind @ g["x"])}


def dct2d(g: Given) -> dict[str, Any]:
    n = g["n"]
    k, i = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    basis = np.cos(np.pi * (2 * i + 1) * k / (2 * n)) * np.where(k == 0, math.sqrt(1 / n), math.sqrt(2 / n))
    return {"y": basis @ g["x"] @ basis.T}


def gradient(g: Given) -> dict[str, Any]:
    p = np.pad(g["image"], 1, "edge")
    dx, dy = (p[1:-1, 2:] - p[1:-1, :-2]) / 2, (p[2:, 1:-1] - p[:-2, 1:-1]) / 2
    return {"dx": dx, "dy": dy, "magnitude": np.hypot(dx, dy)}


def sobel(g: Given) -> dict[str, Any]:
    kernel = np.outer([1, 2, 1], [-1, 0, 1])
    views = np.lib.stride_tricks.sliding_window_view(g["image"], (3, 3))
    across, down = (np.einsum("rcij,ij->rc", views, k) for k in (kernel, kernel.T))
    return {"y": np.abs(across) + np.abs(down)}


def upsample(g: Given) -> dict[str, Any]:
    return {"y": np.kron(g["x"], np.ones((g["factor"], g["factor"])))}


def pixel_shuffle(g: Given) -> dict[str, Any]:
    c, r, h, w = g["channels"], g["r"], g["rows"], g["cols"]
    return {"y": g["x"].reshape(c, r, r, h, w).transpose(0, 3, 1, 4, 2).reshape(c, h * r, w * r)}


def quantise(g: Given) -> dict[str, Any]:
    scales = np.abs(g["x"]).max(1) / 127 + 1e-6
    q = np.clip(np.rint(g["x"] / scales[:, None]), -127, 127).astype(int)
    return {"q": q, "scales": scales, "back": q * scales[:, None]}


def gram(g: Given) -> dict[str, Any]:
    return {"y": g["x"].T @ g["x"]}


def batched_dots(g: Given) -> dict[str, Any]:
    return {"y": (g["a"] * g["b"]).sum(1)}


def log_sum_exp(g: Given) -> dict[str, Any]:
    return {"y": np.logaddexp.reduce(g["x"], axis=1)}


def mish(g: Given) -> dict[str, Any]:
    soft = np.logaddexp(0, g["x"])
    return {"soft": soft, "y": g["x"] * np.tanh(soft)}


def kv_cache(g: Given) -> dict[str, Any]:
    at = int(g["pos"][0])
    keys, values = g["keys"].copy(), g["values"].copy()
    keys[at], values[at] = g["k"], g["v"]
    y = _attended(g["q"][None], keys, values, np.arange(g["places"]) <= at)[0]
    return {"y": y, "keys": keys, "values": values}


def beam_update(g: Given) -> dict[str, Any]:
    sums = g["score"][:, None] + g["logp"]
    parent, token = np.unravel_index(sums.argmax(), sums.shape)
    return {"sums": sums.ravel(), "best": sums.max(), "parent": parent, "token": token, "score": sums.max(1)}


def histogram(g: Given) -> dict[str, Any]:
    return {"y": np.bincount(g["ids"], minlength=g["bins"])}


def histogram_dense(g: Given) -> dict[str, Any]:
    inside = g["x"][(g["x"] >= -2) & (g["x"] < 2)]
    return {"y": np.histogram(inside, g["bins"], (-2, 2))[0]}


def one_hot(g: Given) -> dict[str, Any]:
    return {"y": np.eye(g["classes"])[g["labels"]]}


def matrix_power(g: Given) -> dict[str, Any]:
    return {"y": np.linalg.matrix_power(g["a"], 5)}


def rope_table(g: Given) -> dict[str, Any]:
    half = g["half"]
    x = g["x"].reshape(g["tokens"], g["heads"], 2, half)
    turn = np.exp(1j * g["positions"][:, None, None] / 10000 ** (np.arange(half) / half))
    z = (x[:, :, 0] + 1j * x[:, :, 1]) * turn
    return {"y": np.stack([z.real, z.imag], axis=2).reshape(g["x"].shape)}


def mlp_mixer(g: Given) -> dict[str, Any]:
    def mlp(x: Any, up: Any, down: Any) -> Any:
        h = x @ up.T
        return 0.5 * h * (1 + _erf(h / math.sqrt(2))) @ down.T

    mixed = g["x"] + mlp(_normed(g["x"], g["g1"], g["b1"], 1e-6).T, g["w1"], g["w2"]).T
    return {"y": mixed + mlp(_normed(mixed, g["g2"], g["b2"], 1e-6), g["w3"], g["w4"])}


def outer_update(g: Given) -> dict[str, Any]:
    memory = 0.9 * g["memory"] + np.outer(g["k"], g["v"])
    return {"y": g["q"] @ memory, "memory": memory}


def kalman(g: Given) -> dict[str, Any]:
    mean, cov = g["f"] @ g["mean"], g["f"] @ g["cov"] @ g["f"].T + np.diag(g["noise"] ** 2)
    gain = cov @ g["h"] / (1 + g["h"] @ cov @ g["h"])
    mean = mean + gain * (g["z"][0] - g["h"] @ mean)
    # p - gain (P h)^T: the program's own form, as the state drawn for it is no symmetric matrix.
    return {"gain": gain, "mean": mean, "cov": cov - np.outer(gain, cov @ g["h"])}


def top_two(g: Given) -> dict[str, Any]:
    ordered = np.sort(g["x"], axis=1)
    return {"first": ordered[:, -1], "second": ordered[:, -2]}


def rank_sort(g: Given) -> dict[str, Any]:
    order = np.argsort(g["x"], kind="stable")
    return {"place": np.argsort(order), "y": g["x"][order]}


def escape_time(g: Given) -> dict[str, Any]:
    r, c = np.meshgrid(np.arange(g["rows"]), np.arange(g["cols"]), indexing="ij")
    point = (-2 + 3 * c / g["cols"]) + 1j * (-1 + 2 * r / g["rows"])
    z, count = np.zeros_like(point), np.zeros(point.shape, int)
    for _ in range(6):
        inside = np.abs(z) < 2
        z, count = np.where(inside, z * z + point, z), count + inside
    return {"y": count}


def heat_step(g: Given) -> dict[str, Any]:
    u = g["u"].copy()
    u[1:-1, 1:-1] += 0.1 * (
        g["u"][:-2, 1:-1] + g["u"][2:, 1:-1] + g["u"][1:-1, :-2] + g["u"][1:-1, 2:] - 4 * g["u"][1:-1, 1:-1]
    )
    return {"y": u[1, 1], "u": u}


def gauss_seidel(g: Given) -> dict[str, Any]:
    x = np.linalg.solve(np.tril(g["a"]), g["b"] - np.triu(g["a"], 1) @ g["x"])
    return {"y": x[0], "x": x}


def adam(g: Given) -> dict[str, Any]:
    norm, t = np.linalg.norm(g["grad"]), int(g["step"][0])
    grad = g["grad"] / max(norm, 1)
    m, v = 0.9 * g["m"] + 0.1 * grad, 0.999 * g["v"] + 0.001 * grad**2
    w = g["w"] - 0.001 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return {"norm": norm, "m": m, "v": v, "w": w}


def im2col_conv(g: Given) -> dict[str, Any]:
    views = np.lib.stride_tricks.sliding_window_view(g["image"], (3, 3), axis=(1, 2))
    kernels = g["filters"].reshape(-1, g["inputs"], 3, 3)
    return {"y": np.maximum(np.einsum("crsij,ocij->ors", views, kernels), 0).reshape(len(kernels), -1)}


def median_filter(g: Given) -> dict[str, Any]:
    middle = np.median(np.lib.stride_tricks.sliding_window_view(g["x"], 3), axis=1)
    return {"y": np.concatenate([g["x"][:1], middle, g["x"][-1:]])}


def newton_root(g: Given) -> dict[str, Any]:
    return {"y": np.sqrt(np.abs(g["x"]) + 0.5)}


def positives(g: Given) -> dict[str, Any]:
    return {"y": g["x"][g["x"] > 0]}


def flat_layer(g: Given) -> dict[str, Any]:
    x, d = g["x"], g["dim"]
    n = x / np.sqrt((x * x).mean() + 1e-5) * g["gain"]
    up = g["w1"].reshape(-1, d) @ n
    return {"y": x + g["w2"].reshape(d, -1) @ (up * _sigmoid(up) * (g["w3"].reshape(-1, d) @ n))}


def softmax_in_place(g: Given) -> dict[str, Any]:
    return {"y": _softmax(g["x"])}


def flat_conv(g: Given) -> dict[str, Any]:
    views = np.lib.stride_tricks.sliding_window_view(g["image"].reshape(g["h"], g["w"]), (g["k"], g["k"]))
    return {"y": np.einsum("ijab,ab->ij", views, g["kernel"].reshape(g["k"], -1)).ravel()}


def welford(g: Given) -> dict[str, Any]:
    return {"mean": g["x"].mean(), "variance": g["x"].var()}


def running_max(g: Given) -> dict[str, Any]:
    return {"y": np.maximum.accumulate(g["x"])}


def max_pool(g: Given) -> dict[str, Any]:
    c, h, w = g["channels"], g["rows"] // 2, g["cols"] // 2
    return {"y": g["x"].reshape(c, h, 2, w, 2).max((2, 4))}


def dilated_causal(g: Given) -> dict[str, Any]:
    before = (g["taps"] - 1) * g["gap"]
    padded = np.pad(g["x"], ((before, 0), (0, 0)))
    taps = [padded[before - k * g["gap"] :][: g["span"]] @ g["w"][:, :, k].T for k in range(g["taps"])]
    return {"y": np.tanh(sum(taps) + g["b"])}


def bilinear(g: Given) -> dict[str, Any]:
    rows = np.linspace(0, g["rows"] - 1, g["outr"])
    cols = np.linspace(0, g["cols"] - 1, g["outc"])
    tall = np.array([np.interp(rows, np.arange(g["rows"]), column) for column in g["x"].T]).T
    return {"y": np.array([np.interp(cols, np.arange(g["cols"]), row) for row in tall])}


def nearest_label(g: Given) -> dict[str, Any]:
    return {"y": g["labels"][np.abs(g["x"][:, None] - g["samples"]).sum(-1).argmin(1)]}


def masked_cross_attention(g: Given) -> dict[str, Any]:
    scores = g["q"] @ g["k"].T / math.sqrt(g["dim"])
    return {"y": _softmax(np.where(g["keep"] == 1, scores, -1e9)) @ g["v"]}


def state_space_step(g: Given) -> dict[str, Any]:
    dt = g["dt"][:, None]
    h = g["h"] * np.exp(dt * g["a"]) + dt * g["b"] * g["u"][:, None]
    return {"y": h @ g["c"] + g["u"] * g["skip"], "h": h}


def rope_inline(g: Given) -> dict[str, Any]:
    z = g["x"].reshape(g["heads"], -1, 2) @ np.array([1, 1j])
    turned = z * np.exp(1j * g["pos"][0] / 10000 ** (np.arange(0, g["head"], 2) / g["head"]))
    return {"y": np.stack([turned.real, turned.imag], -1).ravel()}


def losses(g: Given) -> dict[str, Any]:
    d = g["p"] - g["t"]
    size = np.abs(d)
    dice = 1 - 2 * (g["p"] * g["t"]).sum() / (np.abs(g["p"]).sum() + np.abs(g["t"]).sum() + 1e-6)
    smooth = np.where(size < 1, d * d / 2, size - 0.5).sum()
    return {"squared": (d * d).mean(), "absolute": size.mean(), "smooth": smooth, "dice": dice}


def power_iteration(g: Given) -> dict[str, Any]:
    made = g["a"] @ g["v"]
    return {"value": g["v"] @ made, "v": made / np.linalg.norm(made)}


def sample_token(g: Given) -> dict[str, Any]:
    passed = np.flatnonzero(np.cumsum(_softmax(g["logits"])) > g["coin"][0])
    return {"token": passed[0] if len(passed) else g["vocab"] - 1}


def life_step(g: Given) -> dict[str, Any]:
    turns = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    near = sum(np.roll(g["grid"], turn, (0, 1)) for turn in turns)
    grid = ((near == 3) | ((near == 2) & (g["grid"] == 1))).astype(int)
    return {"alive": grid.sum(), "grid": grid}


def integer_product(g: Given) -> dict[str, Any]:
    return {"y": np.clip(((g["a"] - g["za"][0]) @ g["b"].T + 64) >> 7, -128, 127)}


def pairwise_reuse(g: Given) -> dict[str, Any]:
    far = ((g["x"][:, None] - g["x"]) ** 2).sum(-1)
    return {"y": far, "nearest": (far + np.diag(np.full(g["n"], np.inf))).min(1)}
