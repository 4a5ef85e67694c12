"""`mare init`: from what a source reflects to a schema in YAML, with a comment next to everything a person should look at.

    reflection ─► survey (keys, links) ─► entity ─► roles ─► families ─► relationships, times, columns ─► YAML

One file a guess. A guess is a pure function of names, types and constraints, and carries its reason. No value is looked at here.
"""

from mare.schema.reflection import Reflection

from .assembling import make_draft
from .draft_text import write_draft
from .drafted import Draft, PublicFacts
from .peeking import Peeks, compared, undeclared, untyped

__all__ = ["Draft", "PublicFacts", "compared", "draft", "make_draft", "undeclared", "untyped", "write_draft"]


def draft(reflection: Reflection, facts: PublicFacts, entity: str | None = None, peeks: Peeks | None = None) -> str:
    """The draft as YAML text that `load_schema` reads."""
    return write_draft(make_draft(reflection, facts, entity, peeks))
