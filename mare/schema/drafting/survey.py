"""`Survey`: a reflection with its keys and links, declared by the catalogue or read from names. The first step of a draft.

A folder of files declares neither keys nor foreign keys: there a column that is called as another table's key
is taken for a link to it, and the draft says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mare.schema.reflection import ReflectedTable, Reflection


@dataclass(frozen=True)
class Link:
    """A foreign key, declared or guessed."""

    table: str
    columns: tuple[str, ...]
    target: str
    references: tuple[str, ...]
    nullable: bool
    """The catalogue lets it be NULL, in a source whose catalogue tells."""
    declared: bool = True
    why: str = ""
    """How it was guessed, where it is not declared."""

    @property
    def is_self(self) -> bool:
        return self.table == self.target

    @property
    def label(self) -> str:
        return f"{self.table}.{'+'.join(self.columns)} → {self.target}"


@dataclass(frozen=True)
class Survey:
    """All tables with the keys and links the draft works with."""

    reflection: Reflection
    keys: Mapping[str, tuple[str, ...]]
    links: tuple[Link, ...]
    key_reasons: Mapping[str, str]
    """Why, for keys that the source does not declare."""
    tells_nullability: bool
    """False where every column may be NULL: a folder of files does not tell."""

    def table(self, name: str) -> ReflectedTable:
        found = self.reflection.table(name)
        if found is None:
            raise KeyError(name)
        return found

    def links_of(self, table: str) -> Iterator[Link]:
        """Where this table points to."""
        return (link for link in self.links if link.table == table)

    def links_to(self, table: str) -> Iterator[Link]:
        """Who points to this table."""
        return (link for link in self.links if link.target == table)

    def with_links(self, links: tuple[Link, ...]) -> Survey:
        return Survey(self.reflection, self.keys, links, self.key_reasons, self.tells_nullability)
