"""Noise on a million cells, against OpenDP's vector mechanism at the same scale (issue: at least 20 times faster)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

from mare.privacy.bits import OsBits
from mare.privacy.noise import Mechanism, prepare_noise

from .timing import Ratio, compare

CELLS = 1_000_000
PEER_CELLS = 50_000
"""OpenDP takes half a minute for a million; its cost is linear, so a twentieth is measured and scaled."""


def noise_ratios(scale: float = 114.0) -> Iterator[Ratio]:
    try:
        import opendp.prelude as dp
    except ImportError:
        print("noise: OpenDP is not installed (pip install opendp), so there is nothing to compare with")
        return
    dp.enable_features("contrib")
    zeros = [0] * PEER_CELLS
    peers = {
        "discrete gaussian": (dp.l2_distance(T=float), dp.m.make_gaussian),
        "discrete laplace": (dp.l1_distance(T=int), dp.m.make_laplace),
    }
    mechanisms: tuple[Mechanism, ...] = ("discrete gaussian", "discrete laplace")
    for mechanism in mechanisms:
        distance, make = peers[mechanism]
        peer = make(dp.vector_domain(dp.atom_domain(T=int)), distance, scale=scale)

        def ours(mechanism: Mechanism = mechanism) -> object:
            return prepare_noise(mechanism, scale, CELLS).draw(OsBits())

        def reference(peer: Callable[[list[int]], object] = peer) -> object:
            return peer(zeros)

        measured = compare(f"{mechanism}, 10⁶ cells", ours, reference, "OpenDP, the same vector mechanism", bar=inf)
        # OpenDP's cost is linear in the cells: scale its part of the ratio to the same million.
        yield replace(measured, value=measured.value * PEER_CELLS / CELLS, bar=1 / 20)
