"""One exception tree, drawn in its docstring."""

from __future__ import annotations

import inspect

from mare import errors


def test_every_error_is_a_mare_error_and_is_drawn_in_the_tree() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    assert len(classes) > 5
    for error in classes:
        assert issubclass(error, errors.MareError)
        assert error.__name__ in (errors.__doc__ or ""), error


def test_a_missing_extra_says_how_to_install_it() -> None:
    assert "pip install 'mare-synth[postgres]'" in str(errors.MissingExtra("PostgreSQL", "postgres"))


def test_a_bug_says_that_it_is_one() -> None:
    assert "bug in mare" in str(errors.InternalError("two models for one group"))
