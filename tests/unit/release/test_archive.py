"""The release file: what is saved comes back, and what cannot be trusted is refused with a word."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from mare.errors import ReleaseError
from mare.release import Release, load_release
from tests.fitted_hospital import fitted_hospital


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.mare"
    fitted_hospital().save(path)
    return path


def rewrite(path: Path, **changed: bytes | None) -> Path:
    """The same file with members changed (or left out), in the way of somebody who knows zip."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, content in changed.items():
        key = next(m for m in members if m.replace("/", "_").replace(".", "_") == name)
        if content is None:
            del members[key]
        else:
            members[key] = content
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def document(path: Path) -> dict[str, object]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("release.json"))


def test_what_is_saved_comes_back(saved: Path) -> None:
    before, after = fitted_hospital(), load_release(saved)
    assert after.schema == before.schema
    assert after.plan == before.plan
    assert after.tables == before.tables
    assert after.status == "PRIVATE"
    assert after.ledger.to_json() == before.ledger.to_json()
    for group, arrays in before.arrays.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, after.arrays[group][name])


def test_the_same_release_is_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.mare"
    load_release(saved).save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_the_id_is_of_what_the_release_holds_and_of_nothing_else(saved: Path, tmp_path: Path) -> None:
    release = fitted_hospital()
    assert len(release.id) == 16
    assert load_release(saved).id == release.id
    moved = tmp_path / "elsewhere.mare"
    moved.write_bytes(saved.read_bytes())
    assert load_release(moved).id == release.id
    group, arrays = next(iter(release.arrays.items()))
    copied = {name: values.copy() for name, values in arrays.items()}
    assert replace(release, arrays={**release.arrays, group: copied}).id == release.id
    copied[next(iter(copied))].flat[0] += 1
    assert replace(release, arrays={**release.arrays, group: copied}).id != release.id
    assert fitted_hospital(private=False).id != release.id


def test_not_private_stays_not_private(tmp_path: Path) -> None:
    path = tmp_path / "seeded.mare"
    fitted_hospital(private=False).save(path)
    loaded = load_release(path)
    assert loaded.status == "NOT PRIVATE"
    assert loaded.warning is not None
    assert loaded.warning.startswith("NOT PRIVATE: ")
    assert "NOT PRIVATE" in repr(loaded)


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mare"
    path.write_bytes(b"not a release")
    with pytest.raises(ReleaseError, match="not a release of mare, or it is damaged"):
        load_release(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="there is no release"):
        load_release(tmp_path / "nothing.mare")


def test_a_foreign_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(ReleaseError, match="not a release of mare"):
        load_release(path)


def test_a_newer_file_is_refused_with_what_to_do(saved: Path) -> None:
    newer = {**document(saved), "format": 99}
    with pytest.raises(ReleaseError, match=r"format 99.*Upgrade mare"):
        load_release(rewrite(saved, release_json=json.dumps(newer).encode()))


def test_a_file_of_an_earlier_mare_is_refused_with_what_to_do(saved: Path) -> None:
    older = {**document(saved), "format": 1}
    with pytest.raises(ReleaseError, match=r"format 1, of an earlier mare.*the version that made it.*or fit again"):
        load_release(rewrite(saved, release_json=json.dumps(older).encode()))


@pytest.mark.parametrize("member", ["release_json", "schema_yaml", "ledger_json", "models_0_safetensors"])
def test_a_missing_part_is_refused(saved: Path, member: str) -> None:
    with pytest.raises(ReleaseError, match="is missing"):
        load_release(rewrite(saved, **{member: None}))


@pytest.mark.parametrize("member", ["release_json", "schema_yaml", "ledger_json", "models_0_safetensors"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00garbage", b"[1, 2"])
def test_a_part_that_holds_something_else_is_refused(saved: Path, member: str, content: bytes) -> None:
    with pytest.raises(ReleaseError):
        load_release(rewrite(saved, **{member: content}))


def test_any_cut_or_flipped_byte_is_refused_or_harmless(saved: Path, tmp_path: Path) -> None:
    whole, good = saved.read_bytes(), load_release(saved)
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.mare"
    refused = 0
    for place in rng.integers(0, len(whole), 60).tolist():
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            try:
                loaded = load_release(path)
            except ReleaseError:
                refused += 1
            else:  # a byte that says nothing: a time, an attribute
                assert loaded.plan == good.plan
                assert loaded.ledger.to_json() == good.ledger.to_json()
    assert refused > 60


def test_a_distribution_that_is_none_is_refused(saved: Path) -> None:
    from safetensors.numpy import save

    arrays = {name: np.full_like(values, -1.0) for name, values in fitted_hospital().arrays["patients.rows"].items()}
    with pytest.raises(ReleaseError, match=r"group 'patients\.rows'"):
        load_release(rewrite(saved, models_0_safetensors=save(arrays)))


def test_a_ledger_whose_status_was_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seeded.mare"
    fitted_hospital(private=False).save(path)
    with zipfile.ZipFile(path) as archive:
        ledger = json.loads(archive.read("ledger.json"))
    ledger["status"] = "PRIVATE"
    with pytest.raises(ReleaseError):
        load_release(rewrite(path, ledger_json=json.dumps(ledger).encode()))


def test_a_schema_that_is_not_the_one_of_the_ledger_is_refused(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        written = archive.read("schema.yaml")
    assert load_release(saved).ledger.occasion.schema == sha256(written).hexdigest()
    with pytest.raises(ReleaseError, match="its schema is not the one that its ledger names"):
        load_release(rewrite(saved, schema_yaml=written + b"# another one\n"))


def test_a_failed_save_leaves_nothing_and_keeps_what_was_there(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        fitted_hospital().save(saved, replace=True)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_release_is_saved_over_a_release_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    fitted_hospital().save(saved, replace=True)
    other, empty = tmp_path / "real.sqlite", tmp_path / "empty"
    other.write_bytes(b"SQLite format 3\0 and all patients")
    with pytest.raises(ReleaseError, match=r"real\.sqlite exists already, and is not a release file"):
        fitted_hospital().save(other, replace=True)
    assert other.read_bytes() == b"SQLite format 3\0 and all patients"
    empty.touch()
    fitted_hospital().save(empty, replace=True)
    assert load_release(empty).id == fitted_hospital().id


def test_saving_into_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    release: Release = fitted_hospital()
    with pytest.raises(ReleaseError, match="cannot be written"):
        release.save(tmp_path / "no" / "where.mare")
