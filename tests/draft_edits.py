"""What a person knows of the datasets that tests draft from, and would change in the drafts.

Every draft can be planned without an edit; what is edited would be left out otherwise.
"""

from __future__ import annotations

Edit = tuple[str, str, str]
"""Table, what stands there, what to write instead."""

CHINOOK_FACTS = ("--between", "2009-01-01", "2025-12-31", "--entities", "60")
NAFLD_FACTS = ("--between", "1997-01-01", "2014-12-31", "--entities", "17500")
MIMIC_FACTS = ("--between", "2110-01-01", "2215-12-31", "--entities", "100")
"""Public: the publishers say so. MIMIC's dates were shifted."""

CHINOOK: tuple[Edit, ...] = (("Playlist", "ignore: true", "public: true"), ("PlaylistTrack", "ignore: true", "public: true"))
"""Playlists are nobody's."""

CHINOOK_POSTGRES: tuple[Edit, ...] = tuple((name, "ignore: true", "public: true") for name in ("playlist", "playlist_track"))


def edited(draft: str, edits: tuple[Edit, ...]) -> str:
    """The draft with these edits. Each must find its place exactly once: a draft that changed is noticed."""
    for table, old, new in edits:
        start = draft.index(f"\n  {table}:\n")
        end = draft.find("\n\n", start)
        section = draft[start : end + 1 if end > 0 else len(draft)]
        if section.count(old) != 1:
            raise AssertionError(f"{old!r} stands {section.count(old)} times in the draft of {table}:\n{section}")
        draft = draft.replace(section, section.replace(old, new))
    return draft
