"""The arguments and options that several verbs share: each is written once, so that it is called the same and says the same.

def fit(schema: SchemaName, source: Source, epsilon: Epsilon, delta: Delta = DEFAULT_DELTA, …)
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mare.privacy.budget import DEFAULT_DELTA as DEFAULT_DELTA

# ---------------------------------------------------------------------- what every verb may be asked

SchemaName = Annotated[str, typer.Argument(help="A schema file, or the name of a ready schema.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and NOT PRIVATE.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]

# ---------------------------------------------------------------------- a fit: `fit`, `synth`, and `audit`, which throws it away

Source = Annotated[str, typer.Option("--from", help="The data: a database URL, a database file or a folder.")]
Epsilon = Annotated[float, typer.Option(help="The budget: how much may be told about one entity.")]
Delta = Annotated[float, typer.Option(help="How often epsilon may not hold; 0 for pure epsilon.")]
PayingFile = Annotated[
    Path | None, typer.Option("--budget-file", help="Take the budget out of this file's cap first (mare budget create).")
]
Purpose = Annotated[str, typer.Option("--purpose", help="What it is for: goes into the ledger and the budget file.")]
By = Annotated[
    str, typer.Option("--by", help="Who makes it: goes into both. Unless given, your login name, into the budget file alone.")
]
InternalNotes = Annotated[
    Path | None,
    typer.Option("--internal-notes", help="Write what was left out, in true numbers, into this file. Not to be handed over."),
]
Ddl = Annotated[
    Path | None,
    typer.Option(
        "--ddl", help="Write the source's views, triggers and functions into this file, as statements to apply to the target."
    ),
]
UnsafePeeked = Annotated[
    bool, typer.Option("--unsafe-peeked", help="Accept a schema that was filled in by looking at the data. NOT PRIVATE.")
]
UnsafeSeed = Annotated[int | None, typer.Option(help="Draw the noise from a seed, for tests. NOT PRIVATE.")]

# ---------------------------------------------------------------------- a sample: `sample` and `synth`

Target = Annotated[
    str,
    typer.Option("--to", help="The target: a database URL, a database file, a folder of Parquet, or of CSV: FOLDER?format=csv."),
]
Entities = Annotated[
    int | None, typer.Option(min=0, help="How many entities to make; as many as the source had, noisily, unless given.")
]
Where = Annotated[
    str | None,
    typer.Option(help="Only entities that satisfy this, as in: age >= 65 and sex = 'F'. As many come out as --entities says."),
]
Seed = Annotated[
    int, typer.Option(help="Another seed, another sample; the same seed, the same sample. The noise of a fit has none.")
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="As many as there are processors, up to four, unless given. The rows are the same.")
]
