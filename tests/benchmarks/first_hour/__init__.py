"""A new user's first hour: thirteen databases, a draft of each that nobody edits, and what comes out of it.

    worlds (generated) ─► storing ─► init ─► check ─► plan ─► synth ─► judging ─► the table

The worlds were made by somebody who knew nothing of how drafts are made (decision 26). No data of anybody is in them.
"""
