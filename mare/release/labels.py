"""What the codes of references mean, as text: the scale of a number may depend on one (a lab value on its item)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .public import Texts
from .relations import TableRelations, Words

Labels = tuple[str | None, ...]


def reference_labels(related: TableRelations) -> Mapping[str, Labels]:
    """By reference, or by the key of an association: of each code, the public key; None for NULL."""
    found: dict[str, Labels] = {}
    for name, says in (related.references or {}).items():
        if isinstance(says, Words):
            chosen = _joined([says.vocabulary.keys[key] for key in says.chosen])
            found[name] = (*chosen, *([None] * (says.size - len(chosen))))
    if (unrolling := related.unrolling) is not None:
        keys = unrolling.vocabulary.keys
        found[unrolling.key] = _joined([keys[key] for key in unrolling.chosen] if unrolling.rest == "drop" else keys)
    return found


def _joined(keys: Sequence[Texts]) -> Labels:
    return tuple(", ".join(key) for key in keys)
