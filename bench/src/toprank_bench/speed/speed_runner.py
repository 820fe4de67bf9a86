"""Running races one after the other, each row written once it is known.

What is recorded already is not run again; what failed is.
"""

import math
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from toprank_bench.provenance import provenance
from toprank_bench.row_file import Row, read_rows, rows_file, writing
from toprank_bench.speed.race import Race, Setting

Report = Callable[[str], None]


class Raced(NamedTuple):
    """What came of a run: rows that were there, new rows, races that failed with their sentence.

    `left_out` are sentences on races whose rival is not installed.
    """

    path: Path
    n_races: int
    n_before: int
    n_new: int
    failed: dict[str, str]
    left_out: list[str]


def run(
    races: Sequence[Race],
    results: Path,
    *,
    quick: bool = False,
    resume: bool = False,
    again: bool = False,
    folder: Path | None = None,
    report: Report | None = None,
) -> Raced:
    """Run the races that are not recorded yet, and append their rows to the file of races.

    Rows of these races are refused unless `resume`, which keeps them, or `again`, which runs
    these races once more; earlier rows stay. `folder` is where data sets are looked for first.
    `report` is called with a sentence on every race: its figure and the time left.
    """
    report = report or _nobody
    path = speed_file(results, quick)
    if not (resume or again) and (done := recorded(races, read_rows(path), quick)):
        raise ValueError(
            f"{path} holds {len(done)} of {len(races)} races already; resume with "
            "--resume, run them --again, or name another folder with --results."
        )
    with writing(path) as writer:
        done = {} if again else recorded(races, read_rows(path), quick)
        left = [race for race in races if race.name not in done]
        why_not = {race.name: _why_not(race) for race in left}
        left_out = [sentence for sentence in why_not.values() if sentence]
        for sentence in left_out:
            report(f"note: {sentence}")
        left = [race for race in left if not why_not[race.name]]
        failed: dict[str, str] = {}
        clock = _Clock(left, quick)
        report(clock.sentence(0))
        for number, race in enumerate(left, start=1):
            row = _row(race, quick, folder)
            writer.append(row)
            if "failed" in row:
                failed[race.name] = row["failed"]
            report(f"{race.name}: {_described(race, row)}; {clock.sentence(number)}")
    return Raced(path, len(races), len(done), len(left) - len(failed), failed, left_out)


def speed_file(results: Path, quick: bool) -> Path:
    """Return where the rows of races are."""
    return rows_file(results, "speed-quick" if quick else "speed")


def recorded(races: Iterable[Race], rows: Iterable[Row], quick: bool) -> dict[str, Row]:
    """Return the last row of each race as it is declared now, by name."""
    known = {race.name: race.definition(quick) for race in races}
    return {
        row["race"]: row
        for row in rows
        if "figure" in row and known.get(row.get("race", "")) == row.get("definition", "")
    }


class _Clock:
    """What is done and how long the rest will take, by rough minutes and by how true they were."""

    def __init__(self, races: Sequence[Race], quick: bool) -> None:
        self._minutes = [race.minutes[quick] for race in races]
        self._begin = time.perf_counter()

    def sentence(self, n_done: int) -> str:
        n_races = len(self._minutes)
        if n_done == n_races:
            return f"{n_done} of {n_races} done"
        taken = (time.perf_counter() - self._begin) / 60
        expected, left = sum(self._minutes[:n_done]), sum(self._minutes[n_done:])
        # the first few races say little of this machine: two minutes count as expected
        factor = (2 + taken) / (2 + expected)
        return f"{n_done} of {n_races} done, about {max(round(factor * left), 1)} min left"


def _row(race: Race, quick: bool, folder: Path | None) -> Row:
    """Return the whole row of one race: its figure or, where it failed, a sentence."""
    shape = race.shape_of(quick)
    n_threads = (os.cpu_count() or 1) if race.is_threaded else 1
    about = {
        "race": race.name,
        "definition": race.definition(quick),
        "shape": shape,
        "threads": n_threads,
        "load": _load(),
    }
    begin = time.perf_counter()
    try:
        if race.needs:
            import_module(race.needs)  # only threads of libraries that are loaded can be limited
        with threadpool_limits(n_threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measured = race.measure(Setting(shape, n_threads, folder))
        found = {
            "figure": _finite(statistics.median(measured.rounds)),
            "unit": race.unit,
            "rounds": measured.rounds,
            "facts": dict(measured.facts),
        }
    except Exception as error:  # the other races must not go down with one
        from toprank.workflow.comparison.differences import (
            error_sentence,  # loads all learners, plots too
        )

        found = {"failed": error_sentence(error)}
    return {**about, **found, "seconds": time.perf_counter() - begin, **provenance()}


def _load() -> float | None:
    """Return how many processes want a core at a time, of late; None where nobody counts."""
    try:
        return round(os.getloadavg()[0], 1)
    except (AttributeError, OSError):
        return None


def _finite(figure: float) -> float:
    if not math.isfinite(figure):
        raise ValueError(f"the figure of a race must be a finite number; got {figure}.")
    return figure


def _why_not(race: Race) -> str | None:
    if not race.needs or find_spec(race.needs) is not None:
        return None
    pip = {"xgboost": "xgboost-cpu"}
    return (
        f"race {race.name} needs {race.needs}, which is not installed; install it with: "
        f"pip install {pip.get(race.needs, race.needs)}"
    )


def _described(race: Race, row: Row) -> str:
    if "failed" in row:
        return f"failed: {row['failed']}"
    verdict = race.verdict(row["figure"])
    limit = f" ({race.limit}: {verdict})" if verdict else ""
    p99 = row["facts"].get("p99")
    slowest = "" if p99 is None else f", p99 {p99:.3g}"
    return f"{row['figure']:.3g} {race.in_words}{slowest}{limit}"


def _nobody(_: str) -> None:
    pass
