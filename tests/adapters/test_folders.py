"""Folders of CSV and Parquet: which files are tables, and what is refused with the file's name and what to do."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mare
from mare.errors import SourceError
from mare.finding import open_source
from mare.ports import Forgiving, Headed
from mare.schema.reflection import Reflection
from mare_adapters.sources import csv_files


def reflect(folder: Path) -> Reflection:
    with open_source(folder) as source:
        return source.reflect()


def names(folder: Path) -> list[str]:
    return [table.name for table in reflect(folder)]


def rows(folder: Path, table: str, *columns: str) -> list[dict[str, object]]:
    with open_source(folder) as source:
        return pa.Table.from_batches(source.read(table, columns)).to_pylist()


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("lengths", [(300,), (70, 5000, 100_000)], ids=["one long row", "ever longer ones"])
def test_rows_around_one_that_no_block_holds_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lengths: tuple[int, ...], suffix: str
) -> None:
    """What comes after it is read in larger blocks, from where the smaller ones had come to; odd rows are left out once."""
    monkeypatch.setattr(csv_files, "_BLOCK", 64)
    texts = [f"note {number}" for number in range(100)]
    for place, length in zip((33, 60, 90), lengths, strict=False):
        texts[place] = "x" * length
    lines = [f"{number},{text}" for number, text in enumerate(texts)]
    lines[10] = lines[50] = lines[95] = "a,row,of,five,fields"
    written = ("id,note\n" + "\n".join(lines) + "\n").encode()
    write(tmp_path / f"t.csv{suffix}", gzip.compress(written) if suffix else written)
    with open_source(tmp_path) as source:
        read = pa.Table.from_batches(source.read("t", ["note"])).column("note").to_pylist()
        assert isinstance(source, Forgiving)
        assert dict(source.unread) == {"t": 3}
    assert read == [text for number, text in enumerate(texts) if number not in (10, 50, 95)]


def test_tables_are_called_after_their_files_and_the_rest_is_left_out_with_a_word(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "x\n1\n")
    write(tmp_path / "b.CSV.gz", gzip.compress(b"y\n2\n"))
    pq.write_table(pa.table({"z": [3]}), tmp_path / "c.parquet")
    write(tmp_path / "README.md", "words")
    write(tmp_path / ".hidden.csv", "x\n")
    told = reflect(tmp_path)
    assert [table.name for table in told] == ["a", "b", "c"]
    assert [(left.name, left.reason) for left in told.left_out] == [("README.md", "not a CSV or Parquet file")]
    assert rows(tmp_path, "b", "y") == [{"y": "2"}]


def test_folders_one_level_down_give_plain_names_unless_two_hold_the_same(tmp_path: Path) -> None:
    for path in ("hosp/patients.csv", "hosp/log.csv", "icu/stays.csv", "icu/log.csv"):
        write(tmp_path / path, f"{Path(path).parent}\n1\n")
    write(tmp_path / "icu/deep/more.csv", "x\n")
    told = reflect(tmp_path)
    assert [table.name for table in told] == ["hosp.log", "icu.log", "patients", "stays"]
    assert [left.name for left in told.left_out] == ["icu/deep"]
    assert rows(tmp_path, "icu.log", "icu") == [{"icu": "1"}]


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "visits.parquet").mkdir()
    (tmp_path / "labs").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"n": [number]}), tmp_path / "visits.parquet" / f"{number}.parquet")
        write(tmp_path / "labs" / f"part-{number}.csv", f"n\n{number}\n")
    write(tmp_path / "labs" / "_SUCCESS", "")
    assert names(tmp_path) == ["labs", "visits"]
    assert rows(tmp_path, "visits", "n") == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert rows(tmp_path, "labs", "n") == [{"n": "0"}, {"n": "1"}, {"n": "2"}]
    write(tmp_path / "labs" / "part-3.csv", "m\n3\n")
    with pytest.raises(SourceError, match=r"part-3\.csv has other columns than part-0\.csv"):
        reflect(tmp_path)


@pytest.mark.parametrize(("first", "second"), [("Patients.csv", "patients.csv"), ("patients.csv", "patients.csv.gz")])
def test_two_files_for_one_table_are_refused_by_name(tmp_path: Path, first: str, second: str) -> None:
    write(tmp_path / first, "x\n")
    write(tmp_path / second, gzip.compress(b"x\n"))
    with pytest.raises(SourceError, match=rf"{first} and {second} are both the table.*move one file"):
        reflect(tmp_path)


def test_an_empty_folder_is_refused_with_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no CSV or Parquet file.*patients\.csv"):
        open_source(tmp_path).__enter__()


def test_every_bad_file_is_told_at_once_with_what_to_do(tmp_path: Path) -> None:
    pq.write_table(pa.table({"z": [3]}), tmp_path / "good.parquet")
    parquet = (tmp_path / "good.parquet").read_bytes()
    bad = {
        "parquet.csv": (parquet, "is a Parquet file, not the CSV that its name says"),
        "text.parquet": (b"x,y\n1,2\n", "cannot be read as the Parquet file"),
        "cut.parquet": (parquet[:-20], "cannot be read as the Parquet file"),
        "zipped.csv": (gzip.compress(b"x\n1\n"), r"is compressed. Rename it to end in .csv.gz"),
        "plain.csv.gz": (b"x\n1\n", r"not compressed with gzip, as its name says. Rename it to end in .csv."),
        "nothing.csv": (b"", "the file is empty"),
        "utf16.csv": ("x,y\n".encode("utf-16-le"), "not in UTF-8"),
        "latin.csv": ("é,y\n".encode("latin-1"), "not in UTF-8"),
        "twice.csv": (b"x,y,x\n", "columns 1, 3 of the header share a name"),
        "unnamed.csv": (b"x,,y,\n", "column 2, 4 of the header has no name"),
    }
    for name, (content, _) in bad.items():
        write(tmp_path / name, content)
    with pytest.raises(SourceError) as refused:
        reflect(tmp_path)
    lines = str(refused.value).splitlines()
    assert len(lines) == len(bad)
    for name, (_, wanted) in bad.items():
        line = next(line for line in lines if f"/{name}" in line)
        assert wanted in line


def test_a_first_column_without_a_name_counts_the_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", b",x,y\n1,a,b\n2,c,d\n")
    with open_source(tmp_path) as source:
        assert [column.name for column in source.reflect().tables[0].columns] == ["rownames", "x", "y"]
        batches = list(source.read("a", ["rownames", "y"]))
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"rownames": "1", "y": "b"}, {"rownames": "2", "y": "d"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "first",
    [
        "17,F,F,1950-01-02",
        "1;2;3",
        "1950-01-02,Smith",
        "4711",
        "1,5;x;02.01.1950",
        "Smith,Anna,1950-01-02,F",
        "Smith,F,smith@hospital.org",
        "Smith,F,-1",
        "Smith,F,0049301234",
        "Smith,de305d54-75b4-431b-adb2-eb6b9e546014",
    ],
)
def test_a_file_without_a_header_is_refused_before_a_row_becomes_one(tmp_path: Path, first: str) -> None:
    (tmp_path / "t.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(SourceError, match="looks like a row, not like a header") as refused:
        reflect(tmp_path)
    assert not any(value in str(refused.value) for value in ("1950", "Smith", "F,", "4711", "hospital.org", "0049", "de305d54"))


@pytest.mark.parametrize("first", ["Anna,Smith,F,34", "Anna;F;ICU", '"Anna","F",34'])
def test_a_header_of_plain_words_is_compared_with_the_rows_below(tmp_path: Path, first: str) -> None:
    below = [first.replace("Anna", f"Name{n}").replace("34", str(n)).replace("F", "MF"[n % 2]) for n in range(9)]
    (tmp_path / "t.csv").write_text("\n".join([first, *below]) + "\n")
    with pytest.raises(SourceError, match="looks like a row, not like a header") as refused:
        mare.draft(tmp_path)
    reflect(tmp_path)  # a fit never looks: one person's rows could make it refuse
    assert not any(value in str(refused.value) for value in ("Anna", "Smith", "34", "ICU"))


@pytest.mark.parametrize(
    "lines",
    [
        ["name,asthma,age", "Anna,asthma,34", "Eva,asthma,35", "Bob,,36", "Kim,asthma,37"],  # a column of asthma or nothing
        ["name,1,2,3", "Anna,1,1,3", "Eva,1,2,3", "Bob,1,2,3"],
        ["sex,kind", "F,a", "F,a", "F,a"],
    ],
)
def test_a_column_may_be_called_as_one_of_its_values(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with open_source(tmp_path) as source:
        assert isinstance(source, Headed)
        assert not source.doubts_of_headers()


@pytest.mark.parametrize("header", ["id,2019,2020,2021", "1st,a,b", "id", "1,name,sex", "id,1.1,1.2,1.2.3"])
def test_names_of_years_and_numbers_are_names(tmp_path: Path, header: str) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n")
    assert [column.name for column in reflect(tmp_path).tables[0].columns] == header.split(",")


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_separator_is_told_from_the_header(tmp_path: Path, sign: str) -> None:
    write(tmp_path / "t.csv", f'"a,b;c|d"{sign}second\r\n"1{sign}1"{sign}\r\n')
    assert rows(tmp_path, "t", "a,b;c|d", "second") == [{"a,b;c|d": f"1{sign}1", "second": None}]


def test_a_byte_order_mark_and_no_last_line_end_are_taken(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", b'\xef\xbb\xbfid,name\n1,""\n2,NULL\n3,')
    assert rows(tmp_path, "t", "id", "name") == [{"id": "1", "name": ""}, {"id": "2", "name": "NULL"}, {"id": "3", "name": None}]


def test_an_empty_line_is_a_null_in_a_single_column_and_nothing_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "one.csv", 'a\n1\n\n""\n')
    write(tmp_path / "two.csv", "a,b\n1,2\n\n")
    assert rows(tmp_path, "one", "a") == [{"a": "1"}, {"a": None}, {"a": ""}]
    assert rows(tmp_path, "two", "a", "b") == [{"a": "1", "b": "2"}]


def test_a_row_of_other_fields_is_left_out_and_counted_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", b"a,b\n1,2\nlonely\n3,4,5\n6,7\n")
    with open_source(tmp_path) as source:
        read = pa.Table.from_batches(source.read("t", ["a", "b"])).to_pylist()
        assert isinstance(source, Forgiving)
        assert dict(source.unread) == {"t": 2}
    assert read == [{"a": "1", "b": "2"}, {"a": "6", "b": "7"}]


@pytest.mark.parametrize("row", ['5,"x5,y5', '5,x5,"y5'], ids=["in the middle", "in the last column"])
def test_a_quote_that_is_never_closed_is_told_and_not_taken_for_one_long_row(tmp_path: Path, row: str) -> None:
    lines = [f"{n},x{n},y{n}" for n in range(50)]
    lines[5] = row
    write(tmp_path / "t.csv", "a,b,c\n" + "".join(f"{line}\n" for line in lines))
    with pytest.raises(SourceError, match="a quote is opened and not closed within its row") as refused:
        rows(tmp_path, "t", "a", "b", "c")
    assert "x5" not in str(refused.value)


def test_a_single_quote_sign_within_a_field_is_a_sign_like_any(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", 'a,b\n1,5\'3" tall\n2,"a ""b"" c\nd"\n')
    assert rows(tmp_path, "t", "b") == [{"b": "5'3\" tall"}, {"b": 'a "b" c\nd'}]


def test_what_is_not_utf8_is_read_with_a_mark_and_the_others_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", b"a,b\nm\xc3\xbc,2\nto\xffp,3\n")
    assert rows(tmp_path, "t", "a", "b") == [{"a": "mü", "b": "2"}, {"a": "to\uefffp", "b": "3"}]


def test_a_compressed_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    write(tmp_path / "t.csv.gz", gzip.compress(b"a\n" + b"".join(b"%d\n" % n for n in range(50_000)))[:-5000])
    with pytest.raises(SourceError, match=r"t\.csv\.gz ends too early"):
        rows(tmp_path, "t", "a")


def test_parquet_tells_its_schema_and_nothing_of_its_data(tmp_path: Path) -> None:
    frame = pd.DataFrame({"unit": pd.Categorical(["ICU", "ward"]), "n": [1, 2]}, index=[7, 8])
    frame.to_parquet(tmp_path / "t.parquet")
    told = reflect(tmp_path)
    unit, number = told.tables[0].columns
    assert (unit.kind, unit.values, unit.min, unit.max) == ("string", None, None, None)
    assert (number.kind, number.values, number.min, number.max) == ("integer", None, None, None)
    assert "ICU" not in repr(told)
    assert [left.name for left in told.left_out] == ["t.__index_level_0__"]
    assert rows(tmp_path, "t", "unit") == [{"unit": "ICU"}, {"unit": "ward"}]


def test_types_that_arrow_knows_and_mare_does_not_are_read_as_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "list": pa.array([[1, 2], None]),
            "none": pa.nulls(2),
            "big": pa.array([2**64 - 1, 0], pa.uint64()),
            "zoned": pa.array([0, None], pa.timestamp("ns", "Europe/Berlin")),
            "required": pa.array([1, 2]),
        }
    )
    table = table.cast(table.schema.set(4, pa.field("required", pa.int64(), nullable=False)))
    pq.write_table(table, tmp_path / "t.parquet")
    columns = reflect(tmp_path).tables[0].columns
    assert [(c.kind, c.nullable) for c in columns] == [
        ("other", True),
        ("unknown", True),
        ("integer", True),
        ("datetime", True),
        ("integer", False),
    ]
    first = rows(tmp_path, "t", "list", "none", "big", "zoned")[0]
    assert (first["list"], first["none"], str(first["big"]), str(first["zoned"])) == (
        "[1, 2]",
        None,
        str(2**64 - 1),
        "1970-01-01 00:00:00",
    )


def test_numbers_of_more_digits_than_arrow_computes_with_are_read(tmp_path: Path) -> None:
    table = pa.table({"whole": pa.array([7], pa.decimal256(50, 0)), "part": pa.array([Decimal("2.5")], pa.decimal256(60, 10))})
    pq.write_table(table, tmp_path / "t.parquet")
    assert rows(tmp_path, "t", "whole", "part") == [{"whole": 7, "part": 2.5}]


def test_parts_that_declare_a_column_in_another_type_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").mkdir()
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t.parquet" / "1.parquet")
    pq.write_table(pa.table({"n": ["topsecret"]}), tmp_path / "t.parquet" / "2.parquet")
    with open_source(tmp_path) as source, pytest.raises(SourceError, match=r"stores n as string, 1\.parquet as int64") as refused:
        source.reflect()
    assert "topsecret" not in str(refused.value)


def test_parts_that_pandas_wrote_may_differ_in_types_because_it_inferred_them(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").mkdir()
    pd.DataFrame({"n": [1]}).to_parquet(tmp_path / "t.parquet" / "1.parquet")
    pd.DataFrame({"n": [2, "x"]}, dtype=object).astype(str).to_parquet(tmp_path / "t.parquet" / "2.parquet")
    with open_source(tmp_path) as source:
        assert all(column.inferred for column in source.reflect().tables[0].columns)
        read = [value for batch in source.read("t", ["n"]) for value in batch.column(0).to_pylist()]
    assert read == [1, "2", "x"]


def test_file_names_that_look_like_patterns_are_names(tmp_path: Path) -> None:
    write(tmp_path / "a[1]*.csv", "x\n1\n")
    write(tmp_path / "a1.csv", "x\n2\n")
    assert rows(tmp_path, "a[1]*", "x") == [{"x": "1"}]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2"], "integer"),
        (["007", "42"], "string"),
        (["1.5", "2", ".5", "1e3"], "number"),
        (["2000-01-01"], "date"),
        (["2000-01-01", "2000-01-01 10:00"], "datetime"),
        (["2000-13-01"], "string"),
        (["10:30", "10:30:59"], "time"),
        (["true", "F"], "boolean"),
        (["T", "F", "F"], "boolean"),
        (["F", "F"], "string"),
        (["F", "M"], "string"),
        (["false"], "string"),
        (["1", "> 89"], "string"),
        (["00000000-0000-0000-0000-000000000001"], "uuid"),
    ],
)
def test_peek_tells_a_kind_only_when_every_value_has_it(tmp_path: Path, texts: list[str], kind: str) -> None:
    write(tmp_path / "t.csv", "\n".join(["a,b", *(f"{text},x" for text in texts), ",x"]))
    with open_source(tmp_path) as source:
        peek = source.peek("t", "a", 9)
    assert peek.kind == kind


def test_lines_that_end_as_on_old_macs_are_told(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", b"a,b\r1,2\r3,4\r")
    with pytest.raises(SourceError, match="CR alone"):
        rows(tmp_path, "t", "a")


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people.csv.gz", "people.tsv.gz", "people.parquet"])
def test_one_file_is_a_source_of_one_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    sign = "\t" if ".tsv" in name else ","
    if name.endswith("parquet"):
        pq.write_table(pa.table({"id": ["1"], "sex": ["F"]}), path)
    else:
        text = f"id{sign}sex\n1{sign}F\n".encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "other.csv").write_text("x\n1\n")
    assert names(path) == ["people"]
    assert rows(path, "people", "id", "sex") == [{"id": "1", "sex": "F"}]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le"])
def test_letters_are_read_as_the_location_says(tmp_path: Path, encoding: str) -> None:
    write(tmp_path / "t.csv", 'größe;wert\nklein;é\n"a;b";\n'.encode(encoding))
    location = f"{tmp_path}?encoding={encoding}"
    with open_source(location) as source:
        found = pa.Table.from_batches(source.read("t", ("größe", "wert"))).to_pylist()
    assert found == [{"größe": "klein", "wert": "é"}, {"größe": "a;b", "wert": None}]


def test_a_file_that_says_utf_8_itself_is_read_as_such(tmp_path: Path) -> None:
    """A folder may hold both: its encoding is for the files that do not say."""
    write(tmp_path / "said.csv", b"\xef\xbb\xbfid;town\n1;K\xc3\xb6ln\n")
    write(tmp_path / "unsaid.csv", "id;town\n1;Köln\n".encode("latin-1"))
    with open_source(f"{tmp_path}?encoding=latin-1") as source:
        for table in ("said", "unsaid"):
            assert pa.Table.from_batches(source.read(table, ["id", "town"])).to_pylist() == [{"id": "1", "town": "Köln"}]


def test_an_encoding_that_is_none_is_refused_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "a\n1\n")
    for none in (
        "latin9000",
        "utf-7",
        "iso2022_jp",
        "hz",
        "unicode_escape",
        "rot13",
    ):  # in these one row changes how the next is read
        with pytest.raises(SourceError, match=r"there is no such encoding.*Write utf-8, latin-1"):
            open_source(f"{tmp_path}?encoding={none}")
