"""Hand-written spellings that are not yet what they should be, by cause. Mending one takes it off here."""

from __future__ import annotations


def _by_name(causes: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: cause for cause, names in causes.items() for name in names}


UNLIKE = _by_name(
    {
        "a write over a whole table is a statement beside the table": ("convolution_1d: padded by zeros, pushed",),
        "axes that a reader splits are split in some statements only": (
            "attention_decode: a group's heads by a running head",
            "attention_decode: groups and heads within",
            "attention_prefill: groups, heads within, positions innermost",
            "attention_prefill: heads by a running place",
        ),
        "what a guard says is not what a bound says": (
            "softmax: scaled and causal, exponentials pushed",
            "softmax: scaled and causal, scores stored",
        ),
    }
)
"""Spellings that lift, and compute what they mean, but to another graph than the plain one of their problem."""

REFUSED = _by_name(
    {
        "a condition on a remainder proves no range": ("rotary: neighbours, by parity",),
        "a maximum by a branch is carried in an item of a sequence": (
            "reductions: maximum, by a turned branch in the item",
        ),
        "a sequence grows by rows that are joined to it": ("transposes: flattened, joined rows",),
        "rows of run-time length are pushed": ("attention_decode: scores of all heads first",),
        "the best is read back at its place": ("argmax: of rows, by the item at the place",),
        "the place is carried in an item of a sequence": ("argmax: of rows, set over copies",),
    }
)
"""Spellings that are refused."""

REFUSED_AT_OTHER_SIZES = _by_name(
    {
        "a length that is a quotient of a counter is not proved to be reached": (
            "attention_prefill: positions and heads by one counter",
        ),
    }
)
"""Spellings that lift at the first sizes of their family and are refused at the second."""

APART = _by_name({})
"""Spellings that round differently, and are made of other statements than the plain one of their problem."""

SECTIONS = _by_name(
    {
        "a power of run-time values has no section": (
            "gelu: the tangent form, by a power",
            "layernorm: the root by a power",
            "reductions: length, by a power",
            "rmsnorm: the root by a power",
            "rmsnorm: the reciprocal root by a power",
            "softmax: a power of e",
        ),
        "a stored factor of two-dimensional windows has no lanes for the matrix datapath": (
            "convolution_2d: scaled, the picture scaled",
            "convolution_2d: scaled, seven tenths inside",
            "convolution_2d: scaled, roots on both sides",
            "convolution_2d: scaled, negated twice",
        ),
        "a sum of products of three factors is no sum of products of two tables": (
            "accumulate: a scaled residual, the factor inside",
            "accumulate: a scaled residual, the matrix scaled",
            "accumulate: a scaled residual, ten times a tenth",
            "convolution_1d: scaled, the factor inside",
            "convolution_1d: scaled, three inside, a tenth after",
            "convolution_1d: scaled, divided inside",
            "convolution_2d: scaled, the factor inside",
            "convolution_2d: scaled, three inside, a tenth after",
            "convolution_2d: scaled, divided inside",
            "matmul: scaled, the factor inside",
            "matmul: scaled, three inside, a tenth after",
            "matmul: scaled, divided inside",
            "matmul_batched: scaled, the factor inside",
            "matmul_batched: scaled, three inside, a tenth after",
            "matmul_batched: scaled, divided inside",
            "matmul_bias: scaled, the factor inside",
            "matmul_bias: scaled, three inside, a tenth after",
            "matmul_bias: scaled, divided inside",
            "matmul_transposed: scaled, the factor inside",
            "matmul_transposed: scaled, three inside, a tenth after",
            "matmul_transposed: scaled, divided inside",
            "matmul_integer: rescaled to floats, started from the zero point",
            "matmul_integer: rescaled to floats, terms divided",
            "matmul_integer: rescaled to floats, terms scaled",
        ),
    }
)
"""Spellings that round differently, and are lowered to sections of other kinds, maps apart."""
