"""Months of payments that do not fit memory: features, a model and a list, each by its command.

`data` name how many days of about 680,000 payments of 440,000 cards are simulated. Every step is a
command of its own, whose seconds and most memory the system reports. The features of a sample of
cards and terminals are compared with those of one history in memory.

A run takes hours and some 150 bytes of disk per payment. It works in a folder of the system's
place for temporary files, and a run that was ended is resumed with the step at which it ended.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from toprank_bench.protocols.protocol import TrialOutcome

METRICS = (
    "payments", "features_seconds", "features_gigabytes", "fit_seconds", "fit_gigabytes",
    "rank_seconds", "rank_gigabytes", "values_that_differ", "average_precision",
)  # fmt: skip
DATA = ("14 days", "60 days", "182 days")
_MAIN = "from toprank.cli import main; main()"
_SAMPLED = {"card": 300, "terminal": 20}
_ROLES = [
    "--label", "is_fraud", "--time", "paid_at", "--card", "card", "--terminal", "terminal",
    "--amount", "amount", "--id", "id",
]  # fmt: skip


class Step(NamedTuple):
    """What one command took: seconds of the clock and of the processor, and its most memory."""

    seconds: float
    processor_seconds: float
    gigabytes: float


def months(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    cards: int = 440_000,
    volume: float = 0.807,
    memory: float = 4.0,
    effort: str = "quick",
) -> TrialOutcome:
    """Return what features, fit and rank took, and in how many values the features differ."""
    n_days = int(data.split()[0])
    work = Path(tempfile.gettempdir(), f"toprank-months-{cards}-{n_days}-{seed}")
    work.mkdir(exist_ok=True)
    payments, features, model = (work / name for name in ("payments", "features", "m.toprank"))
    simulated = ["simulate", "-o", str(payments), "--cards", str(cards), "--days", str(n_days),
                 "--volume", str(volume), "--seed", str(seed)]  # fmt: skip
    if "simulate" not in _steps(work):
        shutil.rmtree(payments, ignore_errors=True)
    commands = {
        "simulate": simulated,
        "features": ["features", str(payments), *_ROLES, "--memory", str(memory), "-o",
                     str(features)],
        "fit": ["fit", str(features), "--label", "is_fraud", "--effort", effort, "--jobs", "1",
                "-o", str(model)],
        "rank": ["rank", str(model), str(features), "--no-page", "-o", str(work / "list.csv")],
    }  # fmt: skip
    steps = {name: _measured(work, name, arguments) for name, arguments in commands.items()}
    n_compared, n_differ = compared(payments, features, seed)
    notes = json.loads((features / "features.json").read_text(encoding="utf-8"))
    figures = {
        "payments": sum(each[1] for each in notes["days"]),
        "values_that_differ": n_differ,
        "average_precision": _average_precision(model),
    }
    for name in ("features", "fit", "rank"):
        figures[f"{name}_seconds"] = steps[name].seconds
        figures[f"{name}_gigabytes"] = steps[name].gigabytes
    facts = {
        "parts": notes["parts"],
        "values_compared": n_compared,
        "bytes_of_payments": _bytes_in(payments),
        "bytes_of_features": _bytes_in(features),
        "processor_seconds": {name: each.processor_seconds for name, each in steps.items()},
    }
    shutil.rmtree(work)
    seconds = {name: round(each.seconds, 1) for name, each in steps.items()}
    return TrialOutcome(
        {name: figures[name] for name in METRICS if name in figures},
        {"cards": cards, "volume": volume, "memory": memory, "effort": effort},
        seconds,
        facts,
    )


def compared(payments: Path, features: Path, seed: int) -> tuple[int, int]:
    """Return how many values of a sample's features were compared, and how many differ."""
    from toprank.payments.feature_folder import FeatureFolder
    from toprank.payments.feature_folder.key_parts import key_groups

    settings = FeatureFolder.open(features).settings
    n_compared = n_differ = 0
    for group in key_groups(settings.history()):
        chosen = _sample(payments, group.column, _SAMPLED[group.column], seed)
        history = settings.history(group.features)
        rows = _rows_of(payments, group.column, chosen, [*history.columns, "is_fraud", "id"])
        expected = history.batch(rows)
        found = _rows_of(features, group.column, chosen, [*history.names, "id"])
        order = pc.index_in(rows["id"], found["id"])
        for name in history.names:
            ours = found[name].take(order).to_numpy().astype(np.float32)
            theirs = expected[name].to_numpy().astype(np.float32)
            n_compared += ours.size
            n_differ += int(
                np.count_nonzero((ours != theirs) & ~(np.isnan(ours) & np.isnan(theirs)))
            )
    return n_compared, n_differ


def _sample(payments: Path, column: str, most: int, seed: int) -> list[Any]:
    """Return some values of a column, drawn from those of the first day."""
    first = min(payments.iterdir())
    values = pc.unique(_plain(ds.dataset(first).to_table(columns=[column])[column])).to_pylist()
    random = np.random.default_rng(seed)
    return random.choice(sorted(values), min(most, len(values)), replace=False).tolist()


def _rows_of(folder: Path, column: str, chosen: Sequence[Any], names: list[str]) -> pa.Table:
    """Return the rows of these keys from all files, in their order."""
    found = []
    for path in sorted(folder.rglob("*.parquet")):
        table = ds.dataset(path).to_table(columns=list(dict.fromkeys([*names, column])))
        values = _plain(table[column])
        found.append(table.filter(pc.is_in(values, pa.array(chosen, values.type))))
    plain = [pa.table({name: _plain(each[name]) for name in each.column_names}) for each in found]
    return pa.concat_tables(plain)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        return values.cast(values.type.value_type)
    return values


def _measured(work: Path, name: str, arguments: list[str]) -> Step:
    """Run a command and return what it took; one that has ended well is not run again."""
    steps = _steps(work)
    if name not in steps:
        begin = time.perf_counter()
        with Path(work, f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, *arguments], stdout=log, stderr=log
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            last = [f"exit code {process.returncode}", *_lines(work / f"{name}.log")][-1]
            raise ValueError(f"toprank {name} must end well; it ended with: {last}")
        seconds = time.perf_counter() - begin
        worked = used.ru_utime + used.ru_stime
        steps[name] = Step(round(seconds, 1), round(worked, 1), round(used.ru_maxrss / 2**20, 3))
        (work / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
    return steps[name]


def _steps(work: Path) -> dict[str, Step]:
    path = work / "steps.json"
    if not path.exists():
        return {}
    noted = json.loads(path.read_text(encoding="utf-8"))
    return {name: Step(*values) for name, values in noted.items()}


def _average_precision(model: Path) -> float:
    from toprank.files import read_manifest

    facts = read_manifest(model)["facts"]
    return float(facts["test"][facts["chosen"]]["average_precision"]["value"])


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
