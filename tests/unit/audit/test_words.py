"""An audit in words: what was found beside what is claimed, and never that something is safe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mare.audit import AuditReport, CanaryReport, QueryAudit, ReplayAudit, audit_document, audit_in_words, read_audit
from mare.errors import ReleaseError

QUERIES = (QueryAudit("counts of ward", "stays.rows", "L2", paid=2.0, moved=1.5),)
PASSED = AuditReport(QUERIES, (ReplayAudit("the heaviest", ()),))
FAILED = AuditReport(QUERIES, (ReplayAudit("the heaviest", ("the scale is another one",)),))


def canary(lower: float, reach: float = 1.1) -> CanaryReport:
    return CanaryReport("mu", claimed=1.2, estimated=lower + 0.1, lower=lower, reach=reach, failure=1e-3, runs=500)


def words(**found: AuditReport | CanaryReport) -> str:
    document = json.loads(json.dumps(audit_document(found.get("tape"), found.get("canary"), epsilon=2.0)))  # type: ignore[arg-type]
    return " ".join(audit_in_words(document))


def test_a_bound_below_the_claim_is_no_proof_of_a_fault_and_none_of_safety() -> None:
    told = words(canary=canary(0.8))
    assert "lower bound μ = 0.8, claimed μ = 1.2: no proof of a fault" in told
    assert "light" not in told
    assert "safe" not in told.lower()


def test_a_bound_above_the_claim_is_a_fault() -> None:
    assert "lower bound μ = 1.9, claimed μ = 1.2: THE NOISE IS TOO SMALL" in words(canary=canary(1.9))


def test_a_canary_that_tests_little_says_so() -> None:
    assert "light" in words(canary=canary(0.01, reach=0.05))


def test_a_tape_says_how_hard_it_was_tested() -> None:
    told = words(tape=PASSED)
    assert "no proof of a fault" in told
    assert "at most 75% of it" in told
    assert "THE GUARANTEE DOES NOT HOLD" in words(tape=FAILED)
    assert "the scale is another one" in words(tape=FAILED)


def test_everything_says_that_it_is_internal() -> None:
    document = audit_document(PASSED, canary(0.8))
    assert document["status"] == "internal, not private"
    assert all("internal, not private" in sentence for sentence in audit_in_words(document))
    assert len(audit_in_words(document)) == 2


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"mare_audit": 2}', "\udcff".encode(errors="surrogateescape")])
def test_another_file_is_refused_in_words(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ReleaseError, match="mare audit"):
        read_audit(file)


def test_a_damaged_one_too(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_audit(tmp_path / "none.json")
    with pytest.raises(ReleaseError, match="damaged"):
        audit_in_words({"mare_audit": 1, "tape": {"passed": True}})
    assert audit_in_words({"mare_audit": 1}) == ("No audit was made: nothing was looked for.",)
