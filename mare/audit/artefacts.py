"""What leaves the house, byte by byte: the members of the release file, compared between two fits."""

from __future__ import annotations

import json
import tempfile
import zipfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from mare.release import Release

Artefacts = Mapping[str, bytes]


def artefacts(release: Release) -> Artefacts:
    """Every member of the release's file. Why it is NOT PRIVATE is left out of the ledger: it names the audit itself."""
    with tempfile.TemporaryDirectory(prefix="mare-audit-") as folder:
        path = Path(folder) / "audited.mare"
        release.save(path)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    ledger = json.loads(members["ledger.json"])
    del ledger["reasons"]
    return {**members, "ledger.json": json.dumps(ledger).encode()}


def in_any_column_order(released: Artefacts) -> Artefacts:
    """The same members with the columns of the tables that come out sorted: their order is the catalogue's."""
    document = json.loads(released["release.json"])
    for table in document["tables"]:
        table["columns"].sort(key=lambda column: column["name"])
    return {**released, "release.json": json.dumps(document).encode()}


def differing(before: Artefacts, now: Artefacts) -> list[str]:
    """Which members are not the same, and whether they come in another order."""
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    found = [f"{name} of the release is not the same" for name in changed]
    if not changed and list(before) != list(now):
        found.append("the members of the release come in another order")
    return found


def published(secrets: Mapping[str, bytes], released: Artefacts) -> list[str]:
    """Secret keys of the fit that can be read in the release, as bytes or written out."""
    found = []
    for name, secret in secrets.items():
        spelled: Sequence[bytes] = (secret, secret.hex().encode(), secret.hex().upper().encode(), b64encode(secret).rstrip(b"="))
        found += [
            f"the secret key {name!r} of the fit stands in {member} of the release"
            for member, content in released.items()
            if any(spelling in content for spelling in spelled)
        ]
    return found
