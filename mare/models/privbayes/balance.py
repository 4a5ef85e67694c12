"""Numbers that are close to the row before and carry its value along, in balance: what leaves a value and what comes to it.

A sequence is drawn from whether it repeats the value before, and from what is new where it does not. Both tables are noisy, and a
sequence of fifty rows goes where they lead in the end, not where values are: a value that is left a little too seldom, or come to
a little too often, gathers all patients. How often values are is known far better, by their one-way table. So both tables are
moved, as far as noise explains it, until as much leaves each value as comes to it when values are as they are.

Where more comes than leaves (a disease that goes on) and noise does not explain it, that stays so.

Nor do first rows tell well where sequences begin, being one of fifty, and who changes little stays there: as far as noise
explains it, they begin as values are. And a value that nothing seems to come to, because noise is larger than the few rows that
change, would be lost: how often values are tells that too.

For these numbers alone: what a category is where it changes may be anything but what it usually is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import DIFFERENT, NO_ROW, SAME, norm_subtract

from .noisy_tables import Table

if TYPE_CHECKING:
    from mare.privacy.curator import NoisyCounts

_NOTHING = 1e-12
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Flows:
    """Rows that leave each value, and rows that come to it."""

    leaving: Table
    arriving: Table


def flows(repeats: NoisyCounts, renewed: NoisyCounts, values: Table) -> Flows:
    """Both are one number, as far as noise explains that they differ; and as large as values are frequent, as far as noise
    explains that they are not. ``values`` is how the column is distributed."""
    stays, comes = repeats.rows[: len(values), ..., DIFFERENT], renewed.rows[DIFFERENT, ..., :-1]
    leaving, arriving = stays.reshape(len(stays), -1).sum(axis=1), comes.reshape(-1, comes.shape[-1]).sum(axis=0)
    unsure = repeats.rows_deviation**2 * stays[0].size, renewed.rows_deviation**2 * comes[..., 0].size
    each = 1 / (1 / max(unsure[0], _NOTHING) + 1 / max(unsure[1], _NOTHING))
    both = each * (leaving / max(unsure[0], _NOTHING) + arriving / max(unsure[1], _NOTHING))
    # Where nothing is seen to change, hardly anything does.
    total = max(float(both.sum()), 1.0)
    both = total * values + _believed(both - total * values, each) * (both - total * values)
    apart = _believed(arriving - leaving, sum(unsure))
    told = (norm_subtract((both + apart * (flow - both)) / total) * total for flow in (leaving, arriving))
    return Flows(*told)


def _believed(differences: Table, variance: float) -> float:
    """How much of these differences noise of this variance does not explain."""
    beyond = max(0.0, float((differences**2).mean()) - variance)
    return beyond / max(beyond + variance, _NOTHING)


def in_balance(
    flowing: Flows,
    repeats: NoisyCounts,
    renewed: NoisyCounts,
    told: Table,
    drawn: Table,
    values: Table,
    previous: int | None,
    rounds: int,
) -> tuple[Table, Table]:
    """The two conditional tables, moved: whether a row repeats the value before (its first parent), and what is new.

    ``previous`` is the place of the value before among the axes of what is new, where it is one of its parents.
    """
    begun = _begun(drawn, renewed, values)
    return _left(told, repeats, flowing.leaving, values), _come_to(begun, renewed, flowing, previous, rounds)


def _left(told: Table, repeats: NoisyCounts, leaving: Table, values: Table) -> Table:
    """Whether the value before is repeated, with as many rows leaving each as are to leave it: by the odds, so that what other
    parents decide stays decided."""
    size, rows = len(leaving), repeats.rows[: len(leaving), ..., :-1]
    by_value, mass = told.reshape(repeats.rows.shape[0], -1, 2).copy(), np.maximum(rows.sum(axis=-1), 0.0).reshape(size, -1)
    before, total = rows.reshape(size, -1).sum(axis=1), max(float(rows.sum()), _NOTHING)
    unsure = repeats.rows_deviation**2 * rows[0].size
    # Last rows have none after them, so that values come before another row a little less often or more.
    held = total * values + _believed(before - total * values, unsure) * (before - total * values)
    wanted = np.clip(leaving / np.maximum(held, _NOTHING), 0.0, 1.0)
    mass = np.where(mass.sum(axis=1, keepdims=True) > 0, mass, 1.0)
    mass /= mass.sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        changed = by_value[:size, :, DIFFERENT]
        now = (mass * changed).sum(axis=1)
        odds = np.clip(wanted, _NOTHING, 1 - _NOTHING) / np.clip(1 - wanted, _NOTHING, 1.0)
        factor = np.where((held > 0) & (now > 0) & (now < 1), odds * (1 - now) / np.maximum(now, _NOTHING), 1.0)[:, None]
        by_value[:size, :, DIFFERENT] = changed * factor / (changed * factor + (1 - changed))
    by_value[:size, :, SAME] = 1.0 - by_value[:size, :, DIFFERENT]
    return np.asarray(by_value.reshape(told.shape))


def _begun(drawn: Table, renewed: NoisyCounts, values: Table) -> Table:
    """What is drawn where there is no row before."""
    whole, rows = drawn.reshape(*renewed.rows.shape[:-1], len(values)).copy(), renewed.rows[NO_ROW, ..., :-1]
    begun, total = rows.reshape(-1, len(values)).sum(axis=0), max(float(rows.sum()), 0.0)
    if total <= 0:
        return drawn
    unsure = renewed.rows_deviation**2 * rows[..., 0].size
    wanted = norm_subtract(values + _believed(begun - total * values, unsure) * (begun / total - values))
    joint = whole[NO_ROW] * norm_subtract(rows.sum(axis=-1), total)[..., None]
    now = joint.reshape(-1, len(values)).sum(axis=0)
    joint = joint * np.where(now > 0, wanted / np.maximum(now, _NOTHING), 0.0)
    mass = joint.sum(axis=-1, keepdims=True)
    whole[NO_ROW] = np.where(mass > 0, joint / np.maximum(mass, 1e-300), whole[NO_ROW])
    return np.asarray(whole.reshape(drawn.shape))


def _come_to(drawn: Table, renewed: NoisyCounts, flowing: Flows, previous: int | None, rounds: int) -> Table:
    """What is new where the value before is not repeated, with as many rows coming to each value as are to come to it."""
    comes = renewed.rows[DIFFERENT, ..., :-1]
    whole = drawn.reshape(*renewed.rows.shape[:-1], comes.shape[-1]).copy()
    joint = whole[DIFFERENT] * norm_subtract(comes.sum(axis=-1), max(float(comes.sum()), 1.0))[..., None]
    axes = [(joint.ndim - 1, flowing.arriving)]
    if previous is not None:
        # The last code of the value before says that there is none: nothing is left there.
        axes.insert(0, (previous - 1, np.append(flowing.leaving, 0.0)))
    for _ in range(rounds):
        for axis, wanted in axes:
            now = joint.sum(axis=tuple(k for k in range(joint.ndim) if k != axis))
            part = [-1 if k == axis else 1 for k in range(joint.ndim)]
            joint = joint * np.where(now > 0, wanted / np.maximum(now, _NOTHING), 0.0).reshape(part)
    mass = joint.sum(axis=-1, keepdims=True)
    whole[DIFFERENT] = np.where(mass > 0, joint / np.maximum(mass, 1e-300), whole[DIFFERENT])
    return np.asarray(whole.reshape(drawn.shape))
