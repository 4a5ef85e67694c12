"""Sentences that a terminal wraps, on one line again."""

from __future__ import annotations


def plainly(text: str) -> str:
    return " ".join(text.split())
