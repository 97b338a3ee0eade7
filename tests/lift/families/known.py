"""Hand-written spellings that are not yet what they should be, each with the cause. Mending one takes it off here."""

from __future__ import annotations

UNLIKE: dict[str, str] = {}
"""Spellings that lift, and compute what they mean, but to another graph than the plain one of their problem."""

REFUSED: dict[str, str] = {}
"""Spellings that are refused."""
