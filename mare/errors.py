"""Every error that mare raises on purpose, in one tree.

    MareError
    ├── SchemaError        the schema contradicts itself, or leaves something open (carries all its faults)
    ├── PlanError          the plan cannot be made: a budget, a model or an option that does not exist
    ├── SourceError        the source is not there, refuses us, or does not hold what the schema names
    ├── SinkError          the target cannot be written; it was left as it was
    ├── PrivacyError       the gate refused: not paid for, unknown mechanism, a cap that does not hold
    │   └── BudgetError    a budget that is not one, or not enough of it is left
    ├── ReleaseError       a release file is damaged, foreign or newer than this mare
    ├── MissingExtra       an optional dependency is not installed; the message holds the exact command
    └── InternalError      mare broke one of its own rules: a bug to report

Messages are for people: what was wrong, where, what is allowed, what to do. None of them may carry a
value read from the source: messages end up in logs and tickets.
"""

from __future__ import annotations


class MareError(Exception):
    """The root: ``except MareError`` catches everything that mare raises on purpose."""


class SchemaError(MareError):
    """The schema is wrong or not settled. ``faults`` lists every fault, not just the first."""

    def __init__(self, message: str, faults: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class PlanError(MareError):
    """No plan can be made from this schema, budget and set of options. ``faults`` lists every fault, not just the first."""

    def __init__(self, message: str, faults: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class SourceError(MareError):
    """A source cannot be opened or does not hold what is asked of it."""


class SinkError(MareError):
    """A target cannot be written. Nothing was left half-written."""


class PrivacyError(MareError):
    """The gate refused to answer: no answer was given or paid for. What a budget file has reserved for a fit stays reserved."""


class BudgetError(PrivacyError):
    """A budget that is not one, or a charge that the budget cannot pay."""


class ReleaseError(MareError):
    """A release file that cannot be trusted: damaged, foreign or newer than this mare."""


class MissingExtra(MareError):
    """An optional dependency is missing."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency. Install it with: pip install 'mare-synth[{extra}]'")


class InternalError(MareError):
    """A rule of mare's own was broken. This is a bug: please report it with the command you ran."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} (this is a bug in mare, please report it)")


def is_a_stop(error: BaseException) -> bool:
    """Whether this is how DuckDB tells of a Ctrl-C or a polite kill: one that came while it was at work, or while it asked Python
    for rows. Its text is looked at and goes no further: it may quote a value."""
    if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
        return True
    return "duckdb" in type(error).__module__ and any(stop in str(error) for stop in ("KeyboardInterrupt", "SystemExit"))
