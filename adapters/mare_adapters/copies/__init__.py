"""Copies of sources without some of their rows, each in its own format: D′ of an audit. Found by entry point, as sources are.

A copy goes into a folder that the audit owns and removes. Servers have none: mare never writes to a source.
"""
