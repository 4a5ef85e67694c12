"""Sampling: post-processing of a release. Works with the source switched off."""

from .sample import Poured, SampleOptions, pour, sample, start

__all__ = ["Poured", "SampleOptions", "pour", "sample", "start"]
