"""The command line: parse, call, print. Every verb is a twin of a function of the library.

Commands import what is heavy (schemas, Arrow, DuckDB) inside, so that `mare --help` is instant.
"""

from __future__ import annotations

from .app import main

__all__ = ["main"]
