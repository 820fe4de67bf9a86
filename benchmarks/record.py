"""One row per benchmark run: what was measured, on which commit and machine, with which seed."""

import json
from pathlib import Path
from typing import Any

from toprank_bench.provenance import provenance

RESULTS = Path(__file__).parent / "results"


def record(name: str, **row: Any) -> None:
    """Append one row to results/NAME.jsonl and print it."""
    with (RESULTS / f"{name}.jsonl").open("a") as results:
        results.write(json.dumps({**provenance(), **row}) + "\n")
    print(json.dumps(row))
