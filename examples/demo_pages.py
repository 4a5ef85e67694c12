"""The pages of `demo.py` that no command of mare prints: the review, a patient, the checks, the distances."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from fidelity import KINDS, answers, distance, joints, read, shuffled
from rich import box
from rich.table import Table
from rich.text import Text
from ruamel.yaml import YAML

import mare

TABLES = ("patients", "lines", "cycles", "prescriptions")


def sizes(path: str) -> str:
    with closing(sqlite3.connect(path)) as database:
        counts = {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}
    return ", ".join(f"{count:,} {table}" for table, count in counts.items())


def review(draft: str, reviewed: str) -> Table:
    """What a person changed in the draft, field by field."""
    # Both are loaded and written again, so that nothing but the meaning differs.
    texts = (mare.dump_schema(mare.load_schema(Path(path))) for path in (draft, reviewed))
    old, new = (dict(_fields(YAML(typ="safe").load(text)["tables"])) for text in texts)
    page = _table(("where", "left"), ("the draft said", "left"), ("after review", "left"))
    page.columns[0].no_wrap = True
    for place in [*new, *(place for place in old if place not in new)]:
        was, now = old.get(place, {}), new.get(place, {})
        gone = {name: value for name, value in was.items() if now.get(name) != value}
        come = {name: value for name, value in now.items() if was.get(name) != value}
        if gone or come:
            page.add_row(Text(place), Text(_flow(gone) or "–", style="red"), Text(_flow(come) or "(left out)", style="green"))
    return page


def _fields(tables: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The fields of each table, of its parent and of its columns, by their place."""
    for name, table in tables.items():
        for part, fields in table.items():
            if part == "columns" and isinstance(fields, dict):
                yield from ((f"{name}.{column}", described) for column, described in fields.items())
            elif part == "parent" and isinstance(fields, dict):
                yield f"{name}: parent", fields
            elif part not in ("key", "unique"):
                yield f"{name}: {part}", {part: fields}


def _flow(value: object) -> str:
    """On one line, as YAML writes it."""
    if isinstance(value, dict):
        words = (f"{name}: {{{_flow(v)}}}" if isinstance(v, dict) else f"{name}: {_flow(v)}" for name, v in value.items())
        return ", ".join(words)
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_patient(path: str) -> Table:
    """The first patient with a second line of therapy, cycle by cycle."""
    query = """
        SELECT line_number, regimen, cycle_number, given, toxicity, c.percent || ' %', group_concat(coalesce(name, 'none'), ', ')
        FROM lines JOIN cycles c USING (line_id) LEFT JOIN prescriptions USING (cycle_id) LEFT JOIN drugs USING (drug_id)
        WHERE patient_id = (SELECT min(patient_id) FROM lines JOIN cycles USING (line_id) WHERE line_number = 2)
        GROUP BY cycle_id ORDER BY line_number, cycle_number LIMIT 12"""
    page = _table(*((name, "right") for name in ("line", "regimen", "cycle", "given", "toxicity", "dose")), ("drugs", "left"))
    with closing(sqlite3.connect(path)) as database:
        for row in database.execute(query):
            page.add_row(*map(str, row))
    return page


def checks(path: str) -> dict[str, bool]:
    """What must hold, asked of SQLite: in words, and whether it does."""
    never = {
        "deaths before the diagnosis": "patients WHERE died < diagnosed",
        "lines before the diagnosis": "lines JOIN patients USING (patient_id) WHERE started < diagnosed",
        "cycles before the one before them": "cycles a JOIN cycles b USING (line_id) "
        "WHERE a.cycle_number = b.cycle_number + 1 AND a.given < b.given",
        "doses that do not follow from formulary and cycle": "prescriptions p JOIN drugs d USING (drug_id) "
        "JOIN cycles c USING (cycle_id) WHERE p.dose != d.protocol_dose * c.percent / 100.0",
    }
    with closing(sqlite3.connect(path)) as database:
        (integrity,) = database.execute("PRAGMA integrity_check").fetchone()
        broken = len(database.execute("PRAGMA foreign_key_check").fetchall())
        foreign = sum(len(database.execute(f"PRAGMA foreign_key_list({table})").fetchall()) for table in TABLES)
        counts = {what: database.execute(f"SELECT count(*) FROM {rows}").fetchone()[0] for what, rows in never.items()}
    return {
        f"PRAGMA foreign_key_check: {broken} broken references, {foreign} foreign keys declared": not broken,
        f"PRAGMA integrity_check: {integrity} (primary keys, UNIQUE, NOT NULL, CHECK)": integrity == "ok",
        **{f"{count} {what}": not count for what, count in counts.items()},
    }


def closeness(real: str, synthetic: str, again: str) -> Iterator[Table]:
    """Distances and answers, beside those of the same hospital simulated anew and of the real one with its columns shuffled."""
    truth = read(Path(real))
    others = {"synthetic": read(Path(synthetic)), "drawn anew": read(Path(again)), "shuffled": shuffled(truth)}
    headings = [(name, "right") for name in others]
    page = _table(("distance to the real data (0 to 1)", "left"), *headings)
    right, found = joints(truth), {name: joints(tables) for name, tables in others.items()}
    for kind in KINDS:
        page.add_row(kind, *(_emphasised(name, f"{distance(right[kind], found[name][kind]):.3f}") for name in others))
    yield page
    page = _table(("what a doctor would ask", "left"), ("real", "right"), *headings)
    replies = {"real": answers(truth)} | {name: answers(tables) for name, tables in others.items()}
    for question in replies["real"]:
        page.add_row(question, *(_emphasised(name, replies[name][question]) for name in replies))
    yield page


def _emphasised(name: str, text: str) -> Text:
    return Text(text, style={"synthetic": "bold green", "real": "bold"}.get(name, ""))


def _table(*headings: tuple[str, str]) -> Table:
    page = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading, side in headings:
        page.add_column(heading, justify="right" if side == "right" else "left", overflow="fold")
    return page
