"""Values ⇄ codes: a codec for each kind of domain (listed values, codes, what has an order, what has one by item).

Pure: domains come from the schema and from what was learned, never from the values that pass through.
"""

from .bins import Bins, OpenBins
from .building import ColumnCodec, OpenCodec, TableCodec, evenly, is_kept_as_text, table_codec
from .by_item import ScaledCodec
from .decoding import DecodedTable, decode_table
from .encoding import EncodedTable, ReadTable, code_table, read_table
from .learned_domains import LearnedDomain, LearnedDomains, LearnedOrder, LearnedScales, LearnedValues
from .ordinal import OrdinalCodec
from .relative import RelativeCodec
from .siblings import Above, Points, Siblings

__all__ = [
    "Above",
    "Bins",
    "ColumnCodec",
    "DecodedTable",
    "EncodedTable",
    "LearnedDomain",
    "LearnedDomains",
    "LearnedOrder",
    "LearnedScales",
    "LearnedValues",
    "OpenBins",
    "OpenCodec",
    "OrdinalCodec",
    "Points",
    "ReadTable",
    "RelativeCodec",
    "ScaledCodec",
    "Siblings",
    "TableCodec",
    "code_table",
    "decode_table",
    "evenly",
    "is_kept_as_text",
    "read_table",
    "table_codec",
]
