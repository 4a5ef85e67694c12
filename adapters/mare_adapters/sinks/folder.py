"""`FolderSink`: a folder of Parquet or CSV files, one table a file, that appears complete or not at all.

    out                     Parquet
    out?format=csv          CSV: NULL is an empty field, the empty string a quoted one
    out?format=csv.gz       the same, compressed

Files hold no keys. NULL where none may be is refused; keys and references hold because the sampler made them so. The
folder's mark is a hidden file that lists what mare wrote there, each file with its size: one that has changed is somebody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SinkError
from mare.ports import Place, SinkTable, Watch
from mare.secrecy import is_path, require_path
from mare.whereabouts import folder_place
from mare_adapters.boundary import writing

from .beside import Beside, refuse_others, refuse_what_is_there
from .finishing import Finishing, Step
from .layout import Layout, Limits, lay_out
from .table_files import FORMATS, TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

_LIMITS = Limits("a folder of files", length=240, measure=lambda name: len(name.encode()), unit="bytes", folds_case=True)


_MARK = ".mare.json"
"""Hidden, so that whoever reads the folder (mare, Spark, Arrow) takes it for no table."""
_FILE = re.compile(r"(.+)\.(?:parquet|csv|csv\.gz)", re.IGNORECASE)


class FolderSink:
    """A folder of files, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        path, _, options = str(location).partition("?format=")
        self._target = Path(path)
        self._format = options or "parquet"
        require_path(path, SinkError, "the name of a folder")
        if self._format not in FORMATS:
            asked = f"format={self._format}" if is_path(self._format) else "what follows ?format="
            raise SinkError(f"{asked} is not a format that mare writes. Known: {', '.join(FORMATS)}.")
        self._replace = replace
        self._new: Beside | None = None
        self._files: dict[str, TableFile] = {}
        self._layout = Layout(())
        self._release = ""
        self._finishing = Finishing()

    def __repr__(self) -> str:
        return f"FolderSink({self.label!r})"

    @property
    def label(self) -> str:
        return str(self._target)

    @property
    def notes(self) -> tuple[str, ...]:
        return self._layout.notes

    def __enter__(self) -> Self:
        if self._target.exists() and not self._target.is_dir():
            raise SinkError(f"{self._target} is a file. Give the path of a folder.")
        if not self._replace:
            refuse_what_is_there(self._target, self._held(), replace=False)
        self._new = Beside(self._target)
        with self._new.opening(self.label):
            self._new.path.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None and self._layout.tables:
                files = {Step(file.path.name, (table,)): file for table, file in self._files.items()}
                for step in self._finishing.over([*files, Step("the folder", tuple(self._files))]):
                    with writing(self.label, step.what):
                        if step in files:
                            files[step].close()
                        else:
                            self._appear()
        finally:
            for file in self._files.values():
                file.abandon()
            self._files = {}
            if self._new is not None:
                self._new.discard()
                self._new = None

    def expect(self, tables: Sequence[str]) -> None:
        faults = [name for name in tables if "/" in name or "\\" in name or name.startswith(".")]
        if faults:
            raise SinkError(f"no file can be called {', '.join(map(repr, faults))}. Write to a database instead.")
        held = self._held()
        named = {match[1] if (match := _FILE.fullmatch(name)) else name: name for name in held}
        refuse_others(self._target, list(named), tables, "")
        refuse_what_is_there(self._target, held, replace=self._replace)

    def place(self) -> Place:
        return folder_place(self._target, [self._target / name for name in self._held()])

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self.expect([one.table.name for one in tables])
        self._layout, self._release = lay_out(tables, _LIMITS), release
        for table in self._layout.tables:
            with writing(self.label, table.name):
                self._files[table.name] = open_file(self._entered.path, table, self._format)

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        with writing(self.label, f"table {table}"):
            self._files[table].write(batch)
        self._finishing.rows[table] += batch.num_rows

    def tell_finishing(self, watch: Watch) -> None:
        self._finishing.watch = watch

    @property
    def _entered(self) -> Beside:
        if self._new is None:
            raise InternalError("a sink was written to before it was entered")
        return self._new

    def _appear(self) -> None:
        folder = self._entered.path
        sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
        mark = {"created by": "mare", "synthetic": True, "release": self._release or "unknown", "files": sizes}
        (folder / _MARK).write_text(json.dumps(mark, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        self.expect([table.name for table in self._layout.tables])  # what is there now: somebody may have come meanwhile
        self._entered.appear()

    def _held(self) -> dict[str, bool]:
        """What the folder holds by the names of the files, and whether it is what mare wrote."""
        if not self._target.is_dir():
            return {}
        sizes = _marked(self._target / _MARK)
        entries = [entry for entry in sorted(self._target.iterdir()) if entry.name != _MARK or sizes is None]
        return {entry.name: entry.is_file() and (sizes or {}).get(entry.name) == entry.stat().st_size for entry in entries}


def _marked(file: Path) -> dict[str, object] | None:
    """The files that a folder's mark lists, with their sizes; None where it is no mark of mare's."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    files = told.get("files") if isinstance(told, dict) and told.get("created by") == "mare" else None
    return files if isinstance(files, dict) else None
