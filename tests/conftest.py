"""What all tests share. Statistical and property tests are deterministic: CI never flakes."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.servers", "tests.time_limits"]

settings.register_profile("all", derandomize=True, deadline=None, max_examples=45, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", settings.get_profile("all"), max_examples=15)

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Most of what a property finds, it finds in its first examples: `make test` tries a third of those of `make test-all`."""
    settings.load_profile("fast" if config.option.markexpr == "not slow" else "all")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests are there from now on: whoever looks for garbage need not look among them each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()


def examples(number: int, quick: int | None = None) -> int:
    """So many examples of `make test-all`, a third or ``quick`` in `make test`: for a property whose examples cost more or less
    than usual."""
    whole, now = settings.get_profile("all").max_examples, settings.default.max_examples
    return quick if quick is not None and now < whole else max(1, number * now // whole)


@pytest.fixture
def signals_as_at_a_terminal() -> Iterator[None]:
    """For tests that send signals to themselves or to what they start. `nohup make test &` begins with some of them ignored;
    processes inherit that, and mare leaves ignored what it finds ignored."""
    own = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real datasets beside the project, where they are there."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real datasets (../shared/data) are not on this machine")
    return folder
