"""Sampling: post-processing of a release. Works with the source switched off."""

from .sample import sample

__all__ = ["sample"]
