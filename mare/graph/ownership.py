"""Who owns a table's rows, and how many: `mare.schema.caps`, under the name by which the rooms after the graph know it."""

from __future__ import annotations

from mare.schema.caps import Cap, link_cap, link_memory, parent_link, parent_name

__all__ = ["Cap", "link_cap", "link_memory", "parent_link", "parent_name"]
