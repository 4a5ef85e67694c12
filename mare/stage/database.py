"""The staging database: DuckDB in memory, with a private, temporary folder for what memory cannot hold. True rows live here and
nowhere else, and not for long.

The folder is readable by its owner alone and is removed when the stage is left, whatever happened. Extensions are
never installed or loaded: staging reaches neither the network nor other files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from mare.errors import SourceError, is_a_stop
from mare.files import hold_folder


@contextmanager
def staging_database(folder: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A fresh staging database. ``folder`` is where the temporary folder is made, if not where the system makes them."""
    try:
        # Also takes away the rows that a killed fit left there.
        held = hold_folder(folder or Path(tempfile.gettempdir()), "mare-stage-")
    except OSError as error:
        raise SourceError(
            f"no temporary folder for staging can be made ({error.strerror}). Set TMPDIR to one with room."
        ) from None
    private = held.path
    try:
        connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_unsigned_extensions": "false",
                "enable_external_access": "false",
                "temp_directory": str(private / "spill"),
                # Values are fetched by row: a table comes out in the order in which it went in.
                "preserve_insertion_order": "true",
                # A text column may be longer than the 2 GB that 32-bit offsets reach.
                "arrow_large_buffer_size": "true",
            },
        )
        # In a notebook or a shell DuckDB would draw bars of its own between those of whoever listens.
        connection.execute("SET enable_progress_bar = false")
        try:
            with _translated():
                yield connection
        finally:
            connection.close()
    finally:
        held.discard()


@contextmanager
def _translated() -> Iterator[None]:
    """DuckDB's errors as ours. Their text may quote a value of the source, so none of it is passed on."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise SourceError("staging ran out of memory or of disk. Set TMPDIR to a disk with more room.") from None
    except duckdb.IOException:
        raise SourceError("the staging file cannot be written: the disk may be full. Set TMPDIR to one with more room.") from None
    except duckdb.Error as error:
        if is_a_stop(error):
            raise KeyboardInterrupt from None
        raise SourceError(f"staging failed ({type(error).__name__}).") from None
    except RuntimeError as error:
        if is_a_stop(error):
            raise KeyboardInterrupt from None
        raise
