"""The hospital of `physical_hospital` on servers, and what one patient may be like there. A user writes it with INSERTs.

A text that is written as `=…` is an expression of the server's own: 'infinity'::date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from math import inf, nan

from mare.finding import Location
from tests.privacy.physical_formats import columns_of
from tests.privacy.physical_hospital import KINDS, Rows
from tests.privacy.physical_oddities import LONG, Odd, at_a_time, for_a_while, patient
from tests.servers import MysqlServer, PostgresServer

POSTGRES_TYPES = {
    "key": "bigint",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "number": "double precision",
    "integer": "bigint",
    "datetime": "timestamp",
}
MYSQL_TYPES = {
    "key": "BIGINT",
    "text": "LONGTEXT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "number": "DOUBLE",
    "integer": "BIGINT",
    "datetime": "DATETIME(6)",
}

USUAL: Mapping[str, Odd] = {
    "nothing odd": Odd({}),
    "nothing but NULL": Odd(patient(sex=None, smoker=None, born=None, weight=None, visits=None, town=None)),
    "NULL keys": Odd({"stays": {"sid": None}, "events": {"sid": None, "seq": None}}),
    "the longest text": Odd(patient(town=LONG, sex="")),
    "line breaks and quotes": Odd(patient(town="a\"'\\\r\n,;\t|\n\\N", sex="\\.")),
    "values far outside": Odd({"patients": {"weight": -1e300, "visits": -(2**63)}, "stays": {"step": 2**63 - 1}}),
    "the year 9999": Odd({"patients": {"born": date(9999, 12, 31)}, "stays": {"begins": datetime(9999, 12, 31, 23, 59, 59)}}),
}

POSTGRES: Mapping[str, Odd] = {
    **USUAL,
    "no number": Odd({"patients": {"weight": nan}, "events": {"value": inf}}),
    "infinity for a date": Odd({"patients": {"born": "='infinity'::date"}, "stays": {"begins": "='-infinity'::timestamp"}}),
    "a date before Christ": Odd(patient(born="='4713-01-01 BC'::date")),
    "a date after 9999": Odd({"stays": {"begins": "='294276-12-31 23:59:59.999999'::timestamp"}}),
    "24:00": at_a_time("='24:00'::time", "time"),
    "24:00 with a zone": at_a_time("='24:00:00-15:59'::timetz", "time with time zone", "12:30:00+00"),
    "a zone": Odd({"stays": {"begins": "='infinity'::timestamptz"}}, {"stays.begins": "timestamp with time zone"}),
    "a long interval": for_a_while("='178000000 years'::interval", "interval", "10:00:00"),
    "a backward interval": for_a_while("='-178000000 years'::interval", "interval", "10:00:00"),
    "a number of a thousand digits": Odd(patient(weight=f"={'9' * 1000}"), {"patients.weight": "numeric"}),
    "infinity among decimals": Odd(patient(weight="='Infinity'::numeric"), {"patients.weight": "numeric"}),
    "no number among decimals": Odd(patient(weight="='NaN'::numeric"), {"patients.weight": "numeric"}),
    "no number among narrow decimals": Odd(patient(weight="='NaN'::numeric"), {"patients.weight": "numeric(20, 2)"}),
    "no number among wide decimals": Odd(patient(weight="='NaN'::numeric"), {"patients.weight": "numeric(60, 2)"}),
    "no number among whole ones": Odd(patient(visits="='NaN'::numeric"), {"patients.visits": "numeric(30, 0)"}),
    "sixty whole digits": Odd(patient(visits=f"={'9' * 60}"), {"patients.visits": "numeric(60, 0)"}),
    "sixty digits in a key": Odd(
        {"stays": {"sid": f"={'9' * 60}"}}, {"stays.sid": "numeric(60, 0)", "events.sid": "numeric(60, 0)"}
    ),
    "money": Odd(patient(weight="='-92233720368547758.08'::money"), {"patients.weight": "money"}, {"weight": "70.50"}),
    "blanks at the end": Odd(patient(sex="F"), {"patients.sex": "character(5)"}),
    "bytes": Odd(patient(town="='\\xff'::bytea"), {"patients.town": "bytea"}, {"town": "='\\x41'::bytea"}),
    "json": Odd(patient(town='{"a": [null]}'), {"patients.town": "json"}, {"town": "[]"}),
    "an array": Odd(patient(town="=ARRAY['a', NULL]"), {"patients.town": "text[]"}, {"town": "=ARRAY['north']"}),
    "a day without end in an array": Odd(
        patient(town="=ARRAY['infinity'::date]"), {"patients.town": "date[]"}, {"town": "=ARRAY['2001-02-03'::date]"}
    ),
    "a range without ends": Odd(
        patient(town="='[-infinity,infinity]'::daterange"),
        {"patients.town": "daterange"},
        {"town": "='[2001-02-03,2001-02-05)'::daterange"},
    ),
    "no number in a point": Odd(
        patient(town="='(NaN,-Infinity)'::point"), {"patients.town": "point"}, {"town": "='(1,2)'::point"}
    ),
    "a network": Odd(patient(town="='ffff::/128'::inet"), {"patients.town": "inet"}, {"town": "='10.0.0.1'::inet"}),
    "no bits": Odd(patient(town="=''::bit varying"), {"patients.town": "bit varying(8)"}, {"town": "=B'101'"}),
    "an odd byte in one letter": Odd(patient(sex="='\\377'::\"char\""), {"patients.sex": '"char"'}),
}

MYSQL: Mapping[str, Odd] = {
    **USUAL,
    "an empty date": Odd({"patients": {"born": "0000-00-00"}, "stays": {"begins": "0000-00-00 00:00:00"}}),
    "half a date": Odd({"patients": {"born": "1950-00-00"}, "stays": {"begins": "2001-02-00 00:00:00"}}),
    "the 30th of February": Odd(patient(born="1950-02-30")),
    "a year of four zeros": Odd(patient(visits=0), {"patients.visits": "YEAR"}, {"visits": 2001}),
    "838 hours": at_a_time("838:59:59", "TIME"),
    "minus 838 hours": at_a_time("-838:59:59", "TIME"),
    "two in a boolean": Odd(patient(smoker=2)),
    "-128 in a boolean": Odd(patient(smoker=-128)),
    "64 bits": Odd(patient(visits=2**64 - 1), {"patients.visits": "BIGINT UNSIGNED"}),
    "64 bits in a key": Odd({"stays": {"sid": 2**64 - 1}}, {"stays.sid": "BIGINT UNSIGNED", "events.sid": "BIGINT UNSIGNED"}),
    "64 bits in a row": Odd(patient(visits="=b'1111111111111111111111111111111111111111111111111111111111111111'"),
                            {"patients.visits": "BIT(64)"}),
    "65 digits": Odd(patient(weight="9" * 63), {"patients.weight": "DECIMAL(65, 2)"}),
    "65 whole digits": Odd(patient(visits="9" * 65), {"patients.visits": "DECIMAL(65, 0)"}),
    "no member of an enum": Odd(patient(sex="?"), {"patients.sex": "ENUM('F', 'M')"}),
    "a member that nobody else has": Odd(patient(sex="X"), {"patients.sex": "ENUM('F', 'M', 'X')"}),
    "several members": Odd(patient(town="north,south"), {"patients.town": "SET('north', 'south')"}),
    "bytes": Odd(patient(town="=x'ff'"), {"patients.town": "BLOB"}),
    "another character set": Odd(patient(town="=_latin1 x'fc'"), {"patients.town": "VARCHAR(50) CHARACTER SET latin1"}),
    "json": Odd(patient(town='{"a": [null]}'), {"patients.town": "JSON"}, {"town": "[]"}),
}  # fmt: skip


def _pieces(rows: Rows, table: str) -> list[tuple[str, list[object]]]:
    """Marks and values of each row."""
    found = []
    for row in rows[table]:
        values = [row[name] for name in columns_of(table, rows)]
        spoken = [isinstance(value, str) and value.startswith("=") for value in values]
        marks = [str(value)[1:].replace("%", "%%") if said else "%s" for value, said in zip(values, spoken, strict=True)]
        found.append((", ".join(marks), [value for value, said in zip(values, spoken, strict=True) if not said]))
    return found


@dataclass(frozen=True)
class PostgresWriter:
    server: PostgresServer
    special: Mapping[str, str] = field(default_factory=dict)
    partitioned: bool = False
    """The stays lie in partitions, one for each patient."""

    def __call__(self, rows: Rows) -> Location:
        import psycopg

        url = self.server.create_database()
        with psycopg.connect(url) as connection:
            for table in rows:
                columns = columns_of(table, rows)
                declared = [
                    f'"{name}" {self.special.get(f"{table}.{name}", POSTGRES_TYPES[KINDS[table][name]])}' for name in columns
                ]
                apart = self.partitioned and table == "stays"
                connection.execute(f"CREATE TABLE {table} ({', '.join(declared)}){' PARTITION BY LIST (pid)' if apart else ''}")  # type: ignore[call-overload]
                for pid in sorted({row["pid"] for row in rows[table]}) if apart else ():
                    connection.execute(f"CREATE TABLE stays_{pid} PARTITION OF stays FOR VALUES IN ({pid})")
                for marks, values in _pieces(rows, table):
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # type: ignore[call-overload]
        return url


@dataclass(frozen=True)
class MysqlWriter:
    server: MysqlServer
    special: Mapping[str, str] = field(default_factory=dict)
    text_keys: bool = False
    """Keys are texts that the server compares without regard to case and to blanks at the end."""

    def __call__(self, rows: Rows) -> Location:
        url = self.server.create_database()
        loose = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        types = {**MYSQL_TYPES, "key": loose} if self.text_keys else MYSQL_TYPES
        special = {**self.special, **({"stays.ward": loose} if self.text_keys else {})}
        with self.server.connect(url.rpartition("/")[2]) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = '', foreign_key_checks = 0")
            for table in rows:
                columns = columns_of(table, rows)
                declared = [f"`{name}` {special.get(f'{table}.{name}', types[KINDS[table][name]])}" for name in columns]
                if self.text_keys:
                    declared += {
                        "patients": ["PRIMARY KEY (pid)"],
                        "stays": [
                            "PRIMARY KEY (sid)",
                            "FOREIGN KEY (pid) REFERENCES patients (pid)",
                            "FOREIGN KEY (ward) REFERENCES patients (pid)",
                        ],
                        "events": ["FOREIGN KEY (sid) REFERENCES stays (sid)"],
                    }[table]
                cursor.execute(f"CREATE TABLE `{table}` ({', '.join(declared)})")
                for marks, values in _pieces(rows, table):
                    cursor.execute(f"INSERT INTO `{table}` VALUES ({marks})", values)
            connection.commit()
        return url
