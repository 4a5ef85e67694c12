"""One file a verb. Importing this package registers them all."""

from importlib import import_module

_VERBS = "init check schemas graph plan fit sample synth card ledger budget audit split evaluate study models"
"""Modules of this package, in the order `mare --help` lists them. Each registers itself on `mare.cli.app.app`."""

for _verb in _VERBS.split():
    import_module(f"{__name__}.{_verb}")
