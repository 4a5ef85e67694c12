"""The evaluation: how close synthetic rows come to real ones, and how far nobody shows. All of it is internal, not private.

    schema, real, synthetic (, hold-out) ─► sides ─► coded columns ─► pairs, sequences, trajectories, faults ─► Evaluation

It reads true rows without the gate, so nothing of what it finds may leave the house or steer a release. The verb is
`mare.evaluate`, the room another word, or one would hide the other (decision 1).
"""
