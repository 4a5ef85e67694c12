"""Values ⇄ codes, one file a column type. Pure: domains come from the schema, never from the values that pass through."""

from .building import ColumnCodec, TableCodec, table_codec
from .decoding import decode_table
from .encoding import EncodedTable, Siblings, encode_table
from .ordinal import OrdinalCodec
from .relative import RelativeCodec

__all__ = [
    "ColumnCodec",
    "EncodedTable",
    "OrdinalCodec",
    "RelativeCodec",
    "Siblings",
    "TableCodec",
    "decode_table",
    "encode_table",
    "table_codec",
]
