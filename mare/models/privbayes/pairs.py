"""A conditional from the tables of its child with each parent alone.

A table of a column with four parents has thousands of cells, and nothing stands clear of the noise in any of them; what two
columns have to do with each other has to be summed up from them, noise and all. Counted pair by pair, the same budget tells each
pair far better, and what is lost is only how parents act together. How parents occur together is known: they were
drawn before (`rehearsed`). Among all conditionals that show these pairs in those rows, the one is taken that says nothing
more (the largest entropy, by iterative proportional fitting: Deming and Stephan 1940), as MST and AIM do with what they measure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .noisy_tables import Table, conditional, one_axis, rake

_NOTHING = 1e-15


def from_pairs(together: Table, pairs: Sequence[Table], child: Table, rounds: int) -> Table:
    """P(child | parents), one row per combination of parents.

    ``together`` is how the parents come out, ``pairs`` are P(child | parent) in their order, ``child`` is how the child is to
    come out.
    """
    wanted = []
    for place, believed in enumerate(pairs):
        parent = one_axis(together, place)
        wanted.append(rake(believed * parent[:, None], [parent, child], rounds))
    joint = together[..., None] * child
    for _ in range(rounds):
        for place, pair in enumerate(wanted):
            others = tuple(axis for axis in range(together.ndim) if axis != place)
            shape = [1] * joint.ndim
            shape[place], shape[-1] = pair.shape
            joint = joint * (pair / np.maximum(joint.sum(axis=others), _NOTHING)).reshape(shape)
        joint = joint * (together / np.maximum(joint.sum(axis=-1), _NOTHING))[..., None]
    return conditional(joint, child)
