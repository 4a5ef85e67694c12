"""What a person would change in the drafts of the datasets that tests draft from, after which they can be planned."""

from __future__ import annotations

Edit = tuple[str, str, str]
"""Table, what stands there, what to write instead."""

CHINOOK: tuple[Edit, ...] = (
    ("Invoice", "within: 20y}", "within: 5y, first: {min: 2009-01-01, max: 2015-12-31}}"),
    ("Playlist", "    key: PlaylistId\n", "    public: true\n    key: PlaylistId\n"),
    ("PlaylistTrack", "    key: [PlaylistId, TrackId]\n", "    public: true\n    key: [PlaylistId, TrackId]\n"),
)
"""Invoices are dated, playlists are nobody's."""

CHINOOK_POSTGRES: tuple[Edit, ...] = (
    ("invoice", "within: 20y}", "within: 5y, first: {min: 2009-01-01, max: 2015-12-31}}"),
    ("playlist", "    key: playlist_id\n", "    public: true\n    key: playlist_id\n"),
    ("playlist_track", "    key: [playlist_id, track_id]\n", "    public: true\n    key: [playlist_id, track_id]\n"),
)

NAFLD: tuple[Edit, ...] = (
    ("nafld1", "      case_id: {type: identifier, nullable: true}\n", ""),
    (
        "nafld1",
        "      status:  {type: integer, learn: true, nullable: true}\n",
        "      status:  {type: category, values: [0, 1], nullable: true}\n"
        "    references:\n      case_id: {kind: other_entity, table: nafld1, nullable: true}\n",
    ),
    ("nafld2", "max_rows: 100}", "max_rows: 50}"),
    ("nafld2", "after: previous.days, learn: true", "after: previous.days, within: 4000, first: {min: -8000, max: 8000}"),
    ("nafld3", "after: previous.days, learn: true", "after: previous.days, within: 4000, first: {min: -20000, max: 8000}"),
)
"""A case is another patient; days count from the index date, up to half a lifetime."""

MIMIC: tuple[Edit, ...] = (
    ("admissions", "within: 20y}", "within: 20y, first: {min: 2100-01-01, max: 2215-01-01}}"),
    ("omr", "within: 20y}", "within: 20y, first: {min: 2100-01-01, max: 2215-01-01}}"),
)
"""Dates were shifted by the publisher, as its documentation says."""


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
