"""Sampling: post-processing of a release. Works with the source switched off."""

from .sample import pour, sample

__all__ = ["pour", "sample"]
