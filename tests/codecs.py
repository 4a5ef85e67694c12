"""A whole table into codes at once: the two steps of `mare.codec` where nothing is learned between them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from mare.codec import Above, EncodedTable, Siblings, TableCodec, code_table, read_table


def encode_table(
    codec: TableCodec, values: Mapping[str, pa.Array], siblings: Siblings, above: Above | None = None
) -> EncodedTable:
    return code_table(codec, read_table(codec, values, siblings, above), siblings)
