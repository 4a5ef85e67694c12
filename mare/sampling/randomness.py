"""Counter-based randomness, keyed by (seed, purpose, entity): chunks and threads change nothing.

Every row has a key of its own, made from its parent's (`mare.domain.draws`). A model that draws one number a row gets those
of its rows. One that does not say so (`row_by_row`) gets a plain generator for each block of entities: a block is never split.

The sampling seed is free: nothing here touches the privacy guarantee, a sample is post-processing of the release.
"""

from __future__ import annotations

import numpy as np

from mare.domain import Codes, Keys, RowDraws, as_generator, numbered_keys, purpose_of
from mare.errors import PlanError
from mare.models import FittedModel
from mare.relational.placing import Index

BLOCK = 1024
"""Entities that share a plain generator. A constant of the method, not a setting: another one gives other rows."""


def entity_keys(seed: int, entities: Index) -> Keys:
    """The keys of the entities with these numbers."""
    return numbered_keys(purpose_of(f"entities of seed {seed}"), entities)


def stream(seed: int, purpose: str, block: int) -> np.random.Generator:
    """A plain generator for one purpose and one block of entities, whatever ran before it."""
    # The block is in the upper half of Philox's counter: streams of 2^128 draws each, which never meet.
    return np.random.Generator(np.random.Philox(key=purpose_of(f"{seed} {purpose}"), counter=block << 128))


def draws_row_by_row(model: FittedModel) -> bool:
    return bool(getattr(model, "row_by_row", False))


def ask_by_block(model: FittedModel, history: Codes, seed: int, purpose: str, entities: Index) -> Codes:
    """What a model draws that knows nothing of rows' own numbers: each block of ``entities`` with its own generator."""
    block = entities // BLOCK
    order = np.argsort(block, kind="stable")
    blocks, starts = np.unique(block[order], return_index=True)
    parts = []
    for number, rows in zip(blocks.tolist(), np.split(order, starts[1:]), strict=True):
        parts.append(model.sample(history.take(rows), stream(seed, purpose, number)))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return Codes(len(order), {n: np.concatenate([part[n] for part in parts])[back] for n in parts[0].columns})


def ask_whole_blocks(model: FittedModel, history: Codes, seed: int, purpose: str, entities: Index) -> Codes:
    """The same, where only some entities of a block are wanted: the whole block is drawn, so that no entity depends on which
    others are asked for."""
    if history.columns:
        raise PlanError(
            "--where: a model of the entity's table draws many rows at once and looks around: conditions need another."
        )
    blocks, which = np.unique(entities // BLOCK, return_inverse=True)
    every = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return ask_by_block(model, Codes(len(every), {}), seed, purpose, every).take(which * BLOCK + entities % BLOCK)


def ask(model: FittedModel, history: Codes, draws: RowDraws) -> Codes:
    """What a model draws with the rows' own numbers."""
    return model.sample(history, as_generator(draws))
