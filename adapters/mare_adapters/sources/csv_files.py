"""CSV as a source: the header is read for the names, the rows as text. An unquoted empty field is NULL, a quoted one is empty.

No row ends the read, because a refusal tells everybody that there is such a row: one of more or fewer fields than the header is
left out, and what is not UTF-8 is read with signs in its place (`mare_adapters.letters`). The exception is a quote that is opened
and never closed: it swallows rows of others, and to go on without them would be worse.

UTF-8, with or without a byte-order mark, unless the location says otherwise (`export/?encoding=latin-1`); separated by a comma,
semicolon, tab or bar, whichever the header holds most.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn
from mare_adapters.letters import letters

from .arrow_kinds import texts_of

_SEPARATORS = ",;\t|"
_HEADER_LIMIT = 1 << 20
_BLOCK, _LARGEST_BLOCK = 1 << 24, (1 << 31) - 1
"""A row must fit into a block: notes do. Where one does not, the rest is read in larger ones."""


_VALUE = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)*\s*|\s*\d{1,4}[-./]\d\d?[-./]\d{1,4}(?:[ T].*)?")
"""A number or a date."""
_SURELY_A_VALUE = re.compile(
    r"\s*(?:\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./]\d{4})(?:[ T].*)?|\s*[-+]\d+(?:[.,]\d+)*\s*|\s*\d{5,}\s*|\s*0\d+\s*"
    r"|[^@\s]+@[^@\s]+\.\w+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
"""What no column is called: a date, a number with a sign, a leading zero or many digits, an e-mail address, a UUID."""
_LOOKED_AT, _ROWS_BELOW, _REPEATED = 1 << 16, 200, 3
"""Bytes and rows below a header that it is compared with, and how many of these say what no column is called then."""
_SAY_ENCODING = "Save it in UTF-8, or say how it is written, after its place: export/?encoding=latin-1 (or cp1252, utf-16)."


UTF_8 = "utf-8"
_ENCODING = re.compile(r"utf-8(-sig)?|utf-(16|32)(-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|shift_jis|gbk|big5|euc_\w+")
"""Those in which a letter is read by itself: shifts that go on would let one row change how the next is read."""


def split_encoding(location: object) -> tuple[Path, str]:
    """A folder or file, and how its letters are written: UTF-8, or as the location says after a question mark."""
    text, _, asked = str(location).partition("?encoding=")
    try:
        encoding = codecs.lookup(asked).name if asked else UTF_8
    except LookupError:
        encoding = ""
    if not _ENCODING.fullmatch(encoding):
        raise SourceError(
            f"?encoding={asked}: there is no such encoding, or one whose letters depend on the bytes before them. "
            "Write utf-8, latin-1, cp1252 or utf-16."
        )
    return Path(text), encoding


ROW_NAMES = "rownames"
"""What the first column is called that has no name: R and pandas write the numbers of rows there, unless they are told not to."""


def read_header(path: Path, encoding: str = UTF_8) -> tuple[tuple[ReflectedColumn, ...], str]:
    """The columns that a file's first line names, and its separator. Their kinds are unknown: no other line is read."""
    line = _first_line(path, encoding)
    unquoted = re.sub(r'"(?:[^"]|"")*"', "", line)
    separator = max(_SEPARATORS, key=lambda sign: (unquoted.count(sign), -_SEPARATORS.index(sign)))
    try:
        names = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        raise SourceError(
            f"{path}: its lines end as those of old Macs do (CR alone). Save it with line ends of LF or CR LF."
        ) from None
    if not line.strip() or not names:
        raise SourceError(f"{path}: the file is empty. A CSV file begins with a line of column names.")
    if place := _looks_like_a_row(names):
        # Names are public, and go into the schema and the release: a row of somebody's must not become them.
        raise SourceError(
            f"{path}: the first line looks like a row, not like a header: its field {place} is a number, a date or an address. "
            "A CSV file begins with a line of column names: add one."
        )
    if not names[0].strip() and len(names) > 1 and ROW_NAMES not in names:
        names[0] = ROW_NAMES
    unnamed = [str(number) for number, name in enumerate(names, 1) if not name.strip()]
    if unnamed:
        raise SourceError(f"{path}: column {', '.join(unnamed)} of the header has no name. Give each column a name of its own.")
    # By their places: a file without a header has somebody's values there.
    twice = [str(number) for number, name in enumerate(names, 1) if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: columns {', '.join(twice)} of the header share a name. Give each column a name of its own.")
    return tuple(ReflectedColumn(name, "unknown") for name in names), separator


def _looks_like_a_row(names: Sequence[str]) -> int | None:
    """Which field no column would be called by, counted from one. Years and numbers that go on are names of columns too (`2019`,
    `2020`; `1`, `2`, `3`), so a plain number says so only where it stands first and most are values."""
    for number, name in enumerate(names, 1):
        if _SURELY_A_VALUE.fullmatch(name):
            return number
    most = 2 * sum(_VALUE.fullmatch(name) is not None for name in names) >= len(names)
    return 1 if most and _VALUE.fullmatch(names[0]) else None


def doubt_of_header(path: Path, encoding: str = UTF_8) -> str | None:
    """Whether the first line is a row after all, by the rows below it: for drafting a schema. A fit never asks, because
    the rows of one person could make it refuse."""
    columns, separator = read_header(path, encoding)
    place = _goes_on_below(path, encoding, [column.name for column in columns], separator)
    if place is None:
        return None
    return (
        f"{path}: the first line looks like a row, not like a header: what its field {place} says, rows below say too. "
        "A CSV file begins with a line of column names: add one, or call that column otherwise."
    )


def _goes_on_below(path: Path, encoding: str, names: Sequence[str], separator: str) -> int | None:
    """Which field says what several rows below say in the same place, counted from one: no column is called F whose values are F
    and M. A column of asthma or nothing may be, so a second field has to say so too, or be a number among numbers. Nothing else
    is taken from those rows, and nothing of them is told."""
    with _opened(path, encoding) as file, fields_of_any_length():
        try:
            file.readline(_HEADER_LIMIT)
            head = cast(IO[bytes], file).read(_LOOKED_AT)
        except (OSError, EOFError, zlib.error) as error:
            raise _fault(path, error) from None
        lines = io.StringIO(head.decode("utf-8", "replace"), newline="").readlines()[:_ROWS_BELOW]
        try:
            rows = [row for row in csv.reader(lines, delimiter=separator) if len(row) == len(names)]
        except csv.Error:
            return None  # told when the rows are read
    numbers = [place for place, name in enumerate(names) if _VALUE.fullmatch(name)]
    # 1, 2, 3 are names of columns too, and numbers say the same by chance.
    again = [
        place
        for place, name in enumerate(names)
        if name.strip() and place not in numbers and sum(row[place] == name for row in rows) >= _REPEATED
    ]
    among = any(all(_VALUE.fullmatch(row[place]) for row in rows if row[place]) for place in numbers)
    return again[0] + 1 if len(again) > 1 or (again and among) else None


def stream_rows(
    path: Path, header: Sequence[str], separator: str, names: Sequence[str], encoding: str = UTF_8
) -> Generator[pa.RecordBatch, None, int]:
    """These columns of every row, as text; in the end, how many rows have not the header's fields and were left out."""
    _refuse_open_quote(path, separator, encoding)
    block, read = _BLOCK, 0
    while True:
        odd, again = _OddRows(), read
        try:
            for batch in _blocks(path, header, separator, names, odd, block, encoding):
                new, again = batch.slice(min(again, len(batch))), max(0, again - len(batch))
                if len(new):
                    read += len(new)
                    yield pa.RecordBatch.from_arrays([_texts(column) for column in new.columns], names=new.schema.names)
            return odd.count
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            if odd.swallowed:
                raise _open_quote(path) from None
            if "straddl" not in str(error) or block == _LARGEST_BLOCK:
                raise _fault(path, error) from None
        # A longer row than a block holds: to refuse it would tell that somebody has one.
        block = min(8 * block, _LARGEST_BLOCK)


@dataclass
class _OddRows:
    """Rows that have not the header's fields."""

    count: int = 0
    swallowed: bool = False
    """One goes over many lines, which is what a stray quote makes: it has swallowed others."""

    def __call__(self, row: object) -> str:
        if "\n" in (getattr(row, "text", None) or ""):
            self.swallowed = True
            return "error"
        self.count += 1
        return "skip"


def _blocks(
    path: Path, header: Sequence[str], separator: str, names: Sequence[str], odd: _OddRows, block: int, encoding: str
) -> Iterator[pa.RecordBatch]:
    """The rows, as bytes."""
    # The file itself may have no name for its first column.
    named = {"column_names": list(header), "skip_rows": 1} if header[0] == ROW_NAMES else {}
    with _opened(path, encoding) as file:
        yield from arrow_csv.open_csv(
            file,
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=block, **named),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                invalid_row_handler=odd,
                ignore_empty_lines=len(header) > 1,  # in a single column, an empty line is a NULL
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.binary() for name in header},
                include_columns=list(dict.fromkeys(names)),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _refuse_open_quote(path: Path, separator: str, encoding: str) -> None:
    """A file that ends within quotes: its last field has swallowed the rows before. Only an odd number of quotes can do that."""
    with _opened(path, encoding) as file:
        try:
            if not sum(block.count(b'"') for block in iter(partial(cast(IO[bytes], file).read, _BLOCK), b"")) % 2:
                return
        except (OSError, EOFError, zlib.error) as error:
            raise _fault(path, error) from None
    with (
        fields_of_any_length(),
        _opened(path, encoding) as file,
        io.TextIOWrapper(cast(IO[bytes], file), encoding="latin-1", newline="") as text,
    ):
        try:
            for _ in csv.reader(text, delimiter=separator, strict=True):
                pass
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise _open_quote(path) from None


@contextmanager
def fields_of_any_length() -> Iterator[None]:
    """Python's own reader refuses what is longer than a limit that it keeps for the whole process."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _open_quote(path: Path) -> SourceError:
    return SourceError(
        f"{path}: a quote is opened and not closed within its row, so the rows after it cannot be told apart. Find it, and "
        "double it or quote the field."
    )


def _texts(column: pa.Array) -> pa.Array:
    try:
        return texts_of(column.cast(pa.string()))
    except pa.ArrowException:
        return pa.array([None if raw is None else letters(raw) for raw in column.to_pylist()], type=pa.string())


def _first_line(path: Path, encoding: str) -> str:
    try:
        with _opened(path, encoding) as file:
            raw = cast(IO[bytes], file).readline(_HEADER_LIMIT)
    except (OSError, EOFError, zlib.error) as error:
        raise _fault(path, error) from None
    if raw.startswith(b"PAR1"):
        raise SourceError(f"{path} is a Parquet file, not the CSV that its name says. Rename it to end in .parquet.")
    if raw.startswith(b"\x1f\x8b"):
        raise SourceError(f"{path} is compressed. Rename it to end in .csv.gz.")
    if b"\0" in raw:
        raise SourceError(f"{path} is not a CSV file, or not in UTF-8. {_SAY_ENCODING}")
    try:
        return raw.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise SourceError(f"{path}: the header is not in UTF-8. {_SAY_ENCODING}") from None


def _opened(path: Path, encoding: str) -> io.BufferedIOBase:
    """The bytes of a file, in UTF-8 whatever it is written in. What cannot be read has a mark in its place."""
    zipped = path.name.lower().endswith(".gz")
    file = cast(io.BufferedIOBase, gzip.GzipFile(path) if zipped else path.open("rb"))
    if encoding == UTF_8:
        return file
    marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    file.seek(0)
    # A mark at its beginning says more of a file than what was said of the whole folder.
    return file if marked else cast(io.BufferedIOBase, codecs.EncodedFile(file, UTF_8, encoding, errors="replace"))


def _fault(path: Path, error: BaseException) -> SourceError:
    """What is wrong with the file. Arrow's message holds a row of it, so nothing of that is told."""
    if isinstance(error, gzip.BadGzipFile):
        return SourceError(f"{path} is not compressed with gzip, as its name says. Rename it to end in .csv.")
    if isinstance(error, EOFError):
        return SourceError(f"{path} ends too early: the compressed file is not complete. Copy it again.")
    if isinstance(error, zlib.error):
        return SourceError(f"{path} is damaged: what was compressed cannot be unpacked. Copy it again.")
    return SourceError(f"{path} cannot be read as CSV ({type(error).__name__}). Check its quotes and line ends.")
