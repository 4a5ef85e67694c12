"""Bytes that are to be a text, as Unicode: never an error, and never one text for two.

What is no letter becomes a sign of Unicode's private area (U+EF80 to U+EFFF, one for each byte), and so do such signs themselves:
two keys that differ in the source still differ when they are read. A mark that stands for any bad byte would make one of them,
and give one patient's rows to another.
"""

from __future__ import annotations

import re

_PRIVATE = 0xEF00
_SIGNS = re.compile("[\uef80-\uefff]")
_BYTES = re.compile("[\udc80-\udcff]")


def letters(raw: bytes, codec: str = "utf-8") -> str:
    """The text of these bytes."""
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError:
        text = raw.decode(codec, "surrogateescape")
    if not text.isascii():
        text = _SIGNS.sub(lambda sign: "".join(chr(_PRIVATE + byte) for byte in sign[0].encode()), text)
        text = _BYTES.sub(lambda byte: chr(_PRIVATE + ord(byte[0]) - 0xDC00), text)
    return text


def lettered(text: str) -> str:
    """A text of Python's, half letters (surrogates) among it as their bytes."""
    return text if text.isascii() else letters(text.encode("utf-8", "surrogatepass"))
