"""The budget file: what was granted is never missing, what is damaged is refused, what does not fit is not granted."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from mare.errors import BudgetError
from mare.privacy import budget_file as module
from mare.privacy.account import Account, looks_like_account, read_account, write_account
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile, is_budget_file
from mare.privacy.cap import Cap

AT = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
UNIT = "one row of patients, with every row that belongs to it in every table"
CAP, PART = Budget(2.0, 1e-8), Budget(1.0, 1e-9)


@pytest.fixture
def file(tmp_path: Path) -> BudgetFile:
    return BudgetFile.create(tmp_path / "hospital.budget", CAP, "hospital 2026", AT)


def take(file: BudgetFile, budget: Budget = PART, unit: str = UNIT) -> str:
    return file.reserve(budget, "a test", unit, AT).id


def names(file: BudgetFile) -> list[str]:
    return sorted(path.name for path in file.path.parent.iterdir())


def test_a_new_file_holds_the_cap_and_nothing_is_taken(file: BudgetFile) -> None:
    account = file.read()
    assert (account.label, account.cap.budget, account.created) == ("hospital 2026", CAP, "2026-03-14T09:26:53Z")
    assert (account.unit, account.reservations) == (None, ())
    assert names(file) == ["hospital.budget"]


def test_a_reservation_is_on_the_disk_when_it_returns(file: BudgetFile) -> None:
    pledge = file.reserve(PART, "fit of  hospital.yaml\ninto r.mare", UNIT, AT + timedelta(hours=1))
    (reservation,) = file.read().reservations
    assert (pledge.label, pledge.id, pledge.cap) == ("hospital 2026", reservation.id, CAP)
    assert reservation.budget == PART
    assert reservation.purpose == "fit of hospital.yaml into r.mare"
    assert reservation.at == "2026-03-14T10:26:53Z"
    assert file.read().unit == UNIT
    assert names(file) == ["hospital.budget"]


def test_what_does_not_fit_is_refused_and_changes_nothing(file: BudgetFile) -> None:
    take(file)
    before = file.path.read_bytes()
    with pytest.raises(BudgetError, match=r"'hospital 2026' .* cannot pay"):
        take(file, Budget(2.0, 1e-9))
    assert file.path.read_bytes() == before
    assert names(file) == ["hospital.budget"]


def test_every_reservation_has_an_id_of_its_own_that_hangs_on_its_history(tmp_path: Path) -> None:
    ids = []
    for name in ("one", "two"):
        made = BudgetFile.create(tmp_path / name, Budget(5.0, 1e-7), name, AT)
        ids += [take(made) for _ in range(5)]
    assert len(set(ids)) == 10
    assert [i.split("-")[0] for i in ids] == ["1", "2", "3", "4", "5"] * 2


def test_only_the_owner_may_read_it_before_and_after(file: BudgetFile) -> None:
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    take(file)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_an_owner_who_opened_it_to_a_group_meant_it(file: BudgetFile) -> None:
    file.path.chmod(0o640)
    take(file)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


def test_one_that_is_there_is_never_overwritten(file: BudgetFile) -> None:
    take(file)
    before = file.path.read_bytes()
    with pytest.raises(BudgetError, match="exists already, and was left as it is"):
        BudgetFile.create(file.path, Budget(9.0, delta=0), "another", AT)
    assert file.path.read_bytes() == before
    assert names(file) == ["hospital.budget"]


def test_all_releases_of_a_file_protect_the_same_unit(file: BudgetFile) -> None:
    take(file)
    with pytest.raises(BudgetError, match="use another budget file"):
        take(file, Budget(0.1, 1e-10), unit="one row of visits, with every row that belongs to it in every table")
    assert len(file.read().reservations) == 1


@pytest.mark.parametrize("label", ["", "  \n "])
def test_a_file_needs_a_label(tmp_path: Path, label: str) -> None:
    with pytest.raises(BudgetError, match="needs a label"):
        BudgetFile.create(tmp_path / "b", CAP, label, AT)
    assert not list(tmp_path.iterdir())


def test_a_time_needs_a_zone_and_is_written_in_utc(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="without a zone"):
        BudgetFile.create(tmp_path / "b", CAP, "b", datetime(2026, 1, 1))
    east = timezone(timedelta(hours=2))
    assert (
        BudgetFile.create(tmp_path / "b", CAP, "b", datetime(2026, 1, 1, 1, tzinfo=east)).read().created == "2025-12-31T23:00:00Z"
    )


def test_a_file_that_is_not_there_is_said_with_the_command_that_makes_it(tmp_path: Path) -> None:
    missing = BudgetFile(tmp_path / "none")
    for attempt in (missing.read, lambda: take(missing)):
        with pytest.raises(BudgetError, match=r"there is no budget file .*mare budget create"):
            attempt()
    with pytest.raises(BudgetError, match=r"folder .* is not there"):
        BudgetFile.create(tmp_path / "no" / "b", CAP, "b", AT)
    assert not is_budget_file(missing.path)


def test_a_folder_is_no_budget_file(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="cannot be used as a budget file"):
        BudgetFile(tmp_path).read()
    assert not is_budget_file(tmp_path)


def test_a_file_cut_at_any_byte_is_refused(file: BudgetFile) -> None:
    take(file)
    whole = file.path.read_bytes()
    for length in range(len(whole)):
        with pytest.raises(BudgetError, match="damaged, or not a budget file"):
            read_account(whole[:length], "it")
    assert read_account(whole, "it").reservations


def test_a_file_with_any_byte_changed_is_refused(file: BudgetFile) -> None:
    take(file)
    whole = file.path.read_bytes()
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        with pytest.raises(BudgetError):
            read_account(changed, "it")


@pytest.mark.parametrize("content", [b"", b"\0" * 512, b"[]", b"{}", b"null", b"[" * 100_000, b'{"checksum": "0"}', b"\xff\xfe"])
def test_what_is_no_budget_file_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "b"
    path.write_bytes(content)
    for attempt in (BudgetFile(path).read, lambda: take(BudgetFile(path))):
        with pytest.raises(BudgetError, match="damaged, or not a budget file"):
            attempt()
    assert path.read_bytes() == content
    assert not is_budget_file(path)


def rewritten(account: Account, **changes: object) -> bytes:
    """A file with a right checksum and wrong content: somebody's editor, not a crash."""
    from mare.privacy import account as room

    document = {**room._document(account), **changes}
    return room._text(document, room._digest(document))


def test_a_file_that_does_not_add_up_is_refused_although_its_checksum_is_right(file: BudgetFile) -> None:
    take(file)
    account = file.read()
    more = [{"id": "9", "epsilon": 2.0, "delta": 1e-8, "rho": 1.0, "purpose": "", "at": ""}] * 2
    for content, words in (
        (rewritten(account, reservations=more), "does not add up"),
        (rewritten(account, mare_budget=2), "has format 2; this mare reads format 1. Upgrade mare"),
        (rewritten(account, cap={"epsilon": -1, "delta": 0, "rho": 0.0, "order": 0.0}), "epsilon is -1"),
        (rewritten(account, cap={"epsilon": 1}), "damaged"),
        (rewritten(account, reservations=[7]), "damaged"),
    ):
        with pytest.raises(BudgetError, match=words):
            read_account(content, "it")


def test_an_account_and_its_text_are_two_sides_of_one_thing(file: BudgetFile) -> None:
    take(file)
    account = file.read()
    assert read_account(write_account(account), "it") == account
    assert looks_like_account(write_account(account))
    assert is_budget_file(file.path)


def test_a_second_name_is_refused(file: BudgetFile) -> None:
    other = file.path.parent / "other"
    os.link(file.path, other)
    with pytest.raises(BudgetError, match=r"second name \(a hard link\)"):
        take(file)
    other.unlink()
    take(file)


def test_behind_a_symbolic_link_there_is_one_file(file: BudgetFile, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file.path)
    take(BudgetFile(link))
    assert link.is_symlink()
    assert len(file.read().reservations) == 1


def test_what_a_killed_writer_left_behind_is_swept_away(file: BudgetFile) -> None:
    left = file.path.parent / ".hospital.budget.x1y2.new"
    left.write_bytes(b"half a fi")
    os.link(file.path, file.path.parent / ".hospital.budget.zzzz.new")  # killed while creating
    take(file)
    assert names(file) == ["hospital.budget"]


@pytest.mark.parametrize("broken", ["fsync", "replace", "write"])
def test_a_disk_that_fails_grants_nothing(file: BudgetFile, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    before = file.path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if broken == "write":
        monkeypatch.setattr(module, "write_account", fail)
    else:
        monkeypatch.setattr(os, broken, fail)
    with pytest.raises(BudgetError, match=r"No space left on device.*Nothing may be answered"):
        take(file)
    monkeypatch.undo()
    assert file.path.read_bytes() == before
    take(file)
    assert names(file) == ["hospital.budget"]


def test_the_state_is_synced_before_it_is_renamed_and_the_folder_after(file: BudgetFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order, or a power cut could leave a name without content, or take the rename back after the grant."""
    happened: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(handle: int) -> None:
        happened.append("sync folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "sync file")
        sync(handle)

    def noted_replace(old: str, new: Path) -> None:
        happened.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    take(file)
    assert happened == ["sync file", "rename", "sync folder"]


def test_a_writer_who_waited_for_the_lock_reads_what_came_before_it(file: BudgetFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one holds the lock another writes the file: the lock it gets is of a file that has lost its name."""
    lock, tries = module.fcntl.flock, []

    def late(handle: int, how: int) -> None:
        tries.append(handle)
        if len(tries) == 1:
            take(file)  # somebody was faster
        lock(handle, how)

    monkeypatch.setattr(module.fcntl, "flock", late)
    take(file)
    assert len(file.read().reservations) == 2
    assert len(tries) == 3


def test_a_file_made_anew_in_the_meantime_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "b", os.link

    def race(source: str, target: Path) -> None:
        link(source, target)
        os.unlink(source)  # swept away by a writer of the file that was first
        link(target, tmp_path / "kept")
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", race)
    with pytest.raises(BudgetError, match="exists already"):
        BudgetFile.create(path, CAP, "b", AT)
    assert (tmp_path / "kept").exists()


def test_threads_share_the_cap_too(tmp_path: Path) -> None:
    file = BudgetFile.create(tmp_path / "b", Budget(1.0, delta=0), "b", AT)
    granted: list[str] = []

    def work() -> None:
        for _ in range(5):
            try:
                granted.append(take(file, Budget(0.1, delta=0)))
            except BudgetError:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 10
    assert sorted(granted) == sorted(r.id for r in file.read().reservations)


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_says_who_took_what_and_what_is_left(file: BudgetFile, width: int) -> None:
    assert "Nothing was taken yet." in file.read().render(width)
    file.reserve(PART, "the first release, for the epidemiologists and their students in three cities", UNIT, AT)
    file.reserve(Budget(0.2, delta=0), "the second", UNIT, AT)
    page = file.read().render(width)
    plain = " ".join(page.split())
    for words in (
        "Privacy budget: hospital 2026",
        "epsilon = 2, delta = 1e-08, for all releases under this file together",
        UNIT,
        "by 2 releases, never given back",
        "2026-03-14 09:26:53",
        "three cities",
        "one more release with epsilon up to",
        "at delta = 0",
        "the rhos are added",
    ):
        assert words in plain, words
    assert max(map(len, page.splitlines())) <= width


def test_the_page_of_a_pure_cap_and_of_one_that_is_used_up(tmp_path: Path) -> None:
    pure = BudgetFile.create(tmp_path / "pure", Budget(1.0, delta=0), "pure", AT)
    assert "one more release with epsilon up to 1\n" in pure.read().render()
    take(pure, Budget(1.0, delta=0))
    page = pure.read().render()
    assert "Left:              nothing" in page
    assert "by 1 release, never" in page
    assert "the epsilons are added" in page
    full = BudgetFile.create(tmp_path / "full", CAP, "full", AT)
    take(full, CAP)
    assert "Left:              nothing" in full.read().render()


def test_json_has_the_file_and_its_sums(file: BudgetFile) -> None:
    assert json.loads(file.read().to_json())["sums"]["promise"] is None
    take(file)
    data = json.loads(file.read().to_json())
    assert data["label"] == "hospital 2026"
    assert data["reservations"][0]["epsilon"] == 1.0
    assert data["sums"]["promise"]["delta"] == 1e-8
    assert 0.2 < data["sums"]["share_of_cap"] < 0.3
    assert data["sums"]["left"]["delta"] == pytest.approx(9e-9, rel=1e-9, abs=0)
    left = Budget(data["sums"]["left"]["epsilon"], data["sums"]["left"]["delta"])
    take(file, left)


def test_the_rule_of_a_file_is_not_worked_out_again(file: BudgetFile) -> None:
    """Another machine's logarithm, or a later version's, must not change what was granted."""
    account = Account("b", Cap(CAP, 0.5, 7.0), "2026-03-14T09:26:53Z")
    assert read_account(write_account(account), "it").cap == Cap(CAP, 0.5, 7.0)
