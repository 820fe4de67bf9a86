"""The attack as trials of an experiment: so many of each class, and how many of them failed."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from toprank_bench.attack.command_pairs import command_pairs
from toprank_bench.attack.hostile_lines import hostile_lines
from toprank_bench.attack.killed_commands import killed_commands
from toprank_bench.attack.messy_tables import messy_tables
from toprank_bench.attack.model_files import changed_model_files
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("failures", "trials")
CLASSES: dict[str, Callable[[int, int], Counter[str]]] = {
    "changed model files": changed_model_files,
    "messy tables": messy_tables,
    "killed commands": killed_commands,
    "commands in pairs": command_pairs,
    "hostile stream lines": hostile_lines,
}


def attack(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    files: int = 30_000,
    tables: int = 200,
    kills: int = 50,
    pairs: int = 20,
    lines: int = 100,
) -> TrialOutcome:
    """Return how many trials of one class failed, and in which way."""
    n_trials = dict(zip(CLASSES, (files, tables, kills, pairs, lines), strict=True))[data]
    begin = time.perf_counter()
    failures = CLASSES[data](n_trials, seed)
    return TrialOutcome(
        {"failures": failures.total(), "trials": n_trials},
        {"trials": n_trials},
        {"all trials": round(time.perf_counter() - begin, 3)},
        {"failures_by_kind": dict(failures)},
    )
