"""How far each sampler leads the same model without sampling, from rows alone."""

from typing import Any

from toprank_bench.experiment import Experiment
from toprank_bench.protocols.protocol import Cell
from toprank_bench.row_file import Row
from toprank_bench.runner import recorded
from toprank_bench.sampling.resamples import difference


def sampling_section(experiment: Experiment, rows: list[Row]) -> str:
    """Return a table per data set: the lead by metric, on the same seeds and resampled rows."""
    known = recorded(experiment, rows)
    methods = [each.name for each in experiment.methods]
    sampled = [name for name in methods if " + " in name and name.split(" + ")[1] in methods]
    parts = [
        "## Lead over the same model without sampling",
        "On the same seeds and the same resampled test rows, with 95 % intervals.",
    ]
    for data in experiment.data:
        head = [data, *experiment.metrics]
        lines = [head, ["---"] * len(head)]
        for method in sampled:
            plain = method.split(" + ")[1]
            cells = [_lead(known, data, method, plain, metric) for metric in experiment.metrics]
            lines.append([method, *cells])
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _lead(known: dict[Cell, Row], data: str, method: str, plain: str, metric: str) -> str:
    sampled, alone = (_by_seed(known, data, name, metric) for name in (method, plain))
    if not sampled[0] or not alone[0]:
        return "–"
    lead = difference(*sampled, *alone)
    return f"{lead.value:+.4f} ({lead.low:+.4f} to {lead.high:+.4f})"


def _by_seed(
    known: dict[Cell, Row], data: str, method: str, metric: str
) -> tuple[dict[int, float], dict[int, Any]]:
    """Return the figures of a method and their resamples, by seed."""
    rows = {
        cell.seed: row for cell, row in known.items() if (cell.data, cell.method) == (data, method)
    }
    return (
        {seed: row["figures"][metric] for seed, row in rows.items()},
        {seed: row["facts"]["resampled"][metric] for seed, row in rows.items()},
    )
