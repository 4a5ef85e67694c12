"""`make demo`: a simulated oncology hospital is drafted, reviewed, planned, synthesized, checked and compared.

    python examples/demo.py [FOLDER] [PATIENTS]

Every line that begins with a dollar sign is a command that is really run, and that you can run again: all files stay in
FOLDER (build/demo). It needs the package itself and nothing else. The pages are in `demo_pages.py`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from demo_pages import checks, closeness, one_patient, review, sizes
from oncology import PATIENTS, simulate_oncology
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
MADE = ("oncology.sqlite", "again.sqlite", "synthetic.sqlite", "draft.yaml", "reviewed.yaml", "oncology.mare")
PAGES = ("card.html", "report.html")

console = Console(highlight=False)


def main(folder: Path, patients: int) -> None:
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*MADE, *PAGES):
        (folder / name).unlink(missing_ok=True)

    title("1  A hospital", "Patients have lines of therapy, lines have cycles, cycles have drugs. Simulated.")
    shell(f"cd {shlex.quote(os.path.relpath(folder))}")
    os.chdir(folder)
    simulate_oncology(Path("oncology.sqlite"), patients)
    say(f"{sizes('oncology.sqlite')}")

    title("2  Draft and review", "What the data is, and what is public. The draft reads names and types, no value.")
    run("mare init oncology.sqlite -o draft.yaml")
    shutil.copy(HERE / "oncology.yaml", "reviewed.yaml")
    say("\nThen a person reviewed it, with the hospital's handbook, not looking at a row:\n")
    console.print(review("draft.yaml", "reviewed.yaml"))
    console.print()
    run("mare check reviewed.yaml --from oncology.sqlite")

    title("3  Plan", "What will be modelled, and what ε = 2 per patient buys. Reads no data.")
    run(f"mare plan reviewed.yaml --epsilon 2 --entities {patients}", until="How to read it")
    say("The rest says how to read this, and what to change where it is noisy.")

    title("4  Fit and sample", "Only fit sees data. Sampling needs the release alone, on any machine.")
    run("mare fit reviewed.yaml --from oncology.sqlite --epsilon 2 -o oncology.mare")
    run("mare sample oncology.mare --to synthetic.sqlite --seed 7")
    say("\nOne of the synthetic patients, who is nobody:\n")
    console.print(one_patient("synthetic.sqlite"))

    title("5  Do the keys hold?", "The database itself is asked.")
    found = checks("synthetic.sqlite")
    for what, fine in found.items():
        console.print(Text.assemble(("✓ ", "green") if fine else ("✗ ", "bold red"), what))

    title("6  The ledger", "What you show your data protection officer.")
    run("mare ledger oncology.mare", until="How to read it")

    title("7  How close does it come?", "Internal, not private: this page looks at the real data, unpaid for.")
    simulate_oncology(Path("again.sqlite"), patients, seed=2)
    for page in closeness("oncology.sqlite", "synthetic.sqlite", "again.sqlite"):
        console.print(page)
        console.print()
    say("drawn anew: the same hospital, simulated anew. As close as chance allows.")
    say("shuffled: the real columns, each in random order. No relation is left.")
    say(f"\n{patients:,} patients and ε = 2 leave noise, and other noise in every run.")
    say("More patients, less noise: make demo PATIENTS=40000 (a few minutes).")
    say("\nThe same in full, as a page: every column, every pair, what follows what.\n")
    sides = "--real oncology.sqlite --synthetic synthetic.sqlite"
    run(f"mare evaluate reviewed.yaml {sides} \\\n    --release oncology.mare -o report.html", until="How far from")

    title("8  The card", "Which columns to trust, by the noise alone: nobody looks at a patient for it.")
    run("mare card oncology.mare", until="How to read it")
    run("mare card oncology.mare -o card.html")
    say(f"\nThe report, internal, not private: {folder / 'report.html'}", soft_wrap=True)
    say(f"Done in {time.monotonic() - began:.0f} seconds. Everything is in {folder}", soft_wrap=True)
    if not all(found.values()):
        sys.exit("the synthetic database is not sound: this is a bug in mare")


def title(what: str, about: str) -> None:
    console.print()
    console.rule(Text(what, style="bold"), align="left", style="cyan")
    say(f"{about}\n", "italic")


def say(text: str, style: str = "", soft_wrap: bool = False) -> None:
    console.print(Text(text, style=style), soft_wrap=soft_wrap)


def shell(command: str) -> None:
    say(f"$ {command}", "bold cyan", soft_wrap=True)


def run(command: str, until: str | None = None) -> None:
    """Run a command in this terminal, as it is shown; with ``until``, show its output up to that line."""
    shell(command)
    program, *arguments = shlex.split(command.replace("\\\n", ""))
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    words = [shutil.which(program, path=beside) or program, *arguments]
    sys.stdout.flush()
    if until is None:
        subprocess.run(words, check=True)
        return
    wide = {**os.environ, "COLUMNS": str(console.width)}
    page = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=wide).stdout
    text = Text(page.partition(until)[0].rstrip() + "\n…")
    for word, style in (("fine", "green"), ("noisy", "yellow"), ("drowns", "red"), ("PRIVATE", "bold green")):
        text.highlight_words([word], style)
    console.print(text, soft_wrap=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "build/demo").resolve(), int(given[1]) if len(given) > 1 else PATIENTS)
