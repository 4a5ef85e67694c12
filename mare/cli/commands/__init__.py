"""The verbs. Importing this package registers them all, in the order in which `mare --help` lists them."""

from . import init, check, plan, fit, records, internal  # noqa: F401, I001
