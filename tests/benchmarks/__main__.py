"""Run every benchmark and print one table. Exit code 1 when a bar is missed: figures are for people, CI does not run this."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .card import card_ratios
from .evaluating import evaluating_ratios
from .fidelity import fidelity_ratios
from .noise import noise_ratios
from .reading import reading_ratios
from .skeleton import skeleton_ratios
from .timing import NO_BAR
from .whole_job import whole_job_ratios
from .worlds.ratios import worlds_ratios


def main() -> int:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 150)
    table = Table(
        "what", "against, in the same run", "figure", "bar", "seconds", "", title="make bench: median of 5, alternating"
    )
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mare-bench-") as folder:
        place = Path(folder)
        parts = (
            noise_ratios(),
            reading_ratios(),
            skeleton_ratios(place),
            whole_job_ratios(place),
            evaluating_ratios(place),
            fidelity_ratios(place),
            worlds_ratios(),
            card_ratios(place),
        )
        for ratios in parts:
            for r in ratios:
                missed += not r.met
                bar, verdict = ("", "") if r.bar == NO_BAR else (f"≤ {r.bar:.3g}", "met" if r.met else "MISSED")
                table.add_row(r.name, r.reference, f"{r.value:.3f}", bar, f"{r.seconds:.3f}", verdict)
                # At once, too: whoever has to stop the rest has what was measured.
                print(f"{r.name} · {r.reference}: {r.value:.3f} {bar} {verdict}", file=sys.stderr, flush=True)
    console.print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
