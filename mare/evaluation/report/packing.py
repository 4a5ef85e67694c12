"""Numbers as text, one letter each: a share in 87 steps is all that a colour can show. `draw.js` reads it back."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

# Letters that neither JSON nor HTML escapes.
LETTERS = "".join(chr(code) for code in range(35, 126) if chr(code) not in "<>\\&'")
RUN, NONE = "~", " "
"""Before the number of zeros that follow; where there is no number."""
_CODES = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
_MOST = len(LETTERS) - 1


def packed(shares: NDArray[np.float64]) -> str:
    """Numbers from 0 to 1; a space for what is none."""
    there = np.isfinite(shares)
    steps = np.rint(np.clip(np.where(there, shares, 0), 0, 1) * _MOST).astype(np.int64)
    return np.where(there, _CODES[steps], ord(NONE)).astype(np.uint8).tobytes().decode("ascii")


def packed_counts(counts: NDArray[np.int64]) -> tuple[str, float]:
    """A cross-tab: the root of each cell's part of the largest, so that small ones show, runs of zeros in two letters; and what
    share of all rows the largest has."""
    flat = counts.ravel()
    total, largest = int(flat.sum()), int(flat.max(initial=0))
    written = packed(np.sqrt(flat / max(1, largest)))
    zero, pieces, place = LETTERS[0], list[str](), 0
    while place < len(written):
        end = place
        while end < len(written) and written[end] == zero and end - place < _MOST:
            end += 1
        if end - place > 2:
            pieces.append(RUN + LETTERS[end - place])
        else:
            end = max(end, place + 1)
            pieces.append(written[place:end])
        place = end
    return "".join(pieces), float(f"{largest / max(1, total):.4g}")


def packed_histogram(counts: NDArray[np.int64]) -> tuple[str, float]:
    """Two letters a bin, in parts of the largest; and what share of all rows the largest has."""
    total, largest = int(counts.sum()), int(counts.max(initial=0))
    steps = np.rint(counts / max(1, largest) * (len(LETTERS) ** 2 - 1)).astype(np.int64)
    pairs = _CODES[np.stack(np.divmod(steps, len(LETTERS)), axis=1)]
    return pairs.astype(np.uint8).tobytes().decode("ascii"), float(f"{largest / max(1, total):.5g}")


def as_json(value: object) -> str:
    """For a script element: nothing in it can end the element, or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", " ").replace("\u2029", " ")
    )
