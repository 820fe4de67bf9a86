"""`toprank stream` in a process of its own: rows per second, and the time of a single line.

Made-up payments of 60 days, each line an object or a row of CSV, and lines of labels that come 7
days after their payment. A run over files is counted in seconds of the processor, less those of a
run over their first lines, which are for starting, compiling and the first labels. What refits
cost is the difference to a model that was fitted on those first lines and has no refit due. The
single lines go through a pipe, each sent once the answer to the one before it has come.
"""

import json
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from toprank.simulator import Simulation, tables_by_day
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import milliseconds_each

_DELAY_DAYS = 7
_MODEL = "m.toprank"
_COLUMNS = ("id", "paid_at", "card", "terminal", "amount", "is_fraud")
_RUN = "from toprank.cli import main; main()"
_TIMED = (
    "import os, resource, subprocess, sys\n"
    f"subprocess.run([sys.executable, '-c', {_RUN!r}, *sys.argv[1:]], check=True,"
    " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(used.ru_utime + used.ru_stime)"
)


class _Lines(NamedTuple):
    """The lines of a stream, and how many rows are among the first `n_warm` of them."""

    lines: list[dict[str, Any]]
    n_warm: int

    def n_rows(self, start: int) -> int:
        return sum("amount" in line for line in self.lines[start:])


@lru_cache(maxsize=1)
def _made_up(n_cards: int, n_days: int) -> _Lines:
    """Return payments of so many days, with the label of each 7 days later."""
    lines = list(_payments_and_labels(n_cards, n_days))
    return _Lines(lines, len(lines) // 4)


def _payments_and_labels(n_cards: int, n_days: int) -> Iterator[dict[str, Any]]:
    simulation = Simulation(n_cards=n_cards, n_terminals=300, n_days=n_days, random_state=SEED)
    late: deque[tuple[Any, dict[str, Any]]] = deque()
    rows = (row for day in tables_by_day(simulation) for row in day.to_pylist())
    for number, row in enumerate(rows):
        moment, label = row.pop("paid_at"), int(row.pop("is_fraud"))
        while late and (moment - late[0][0]).days >= _DELAY_DAYS:
            yield late.popleft()[1]
        name = f"p{number}"
        yield {"id": name, "paid_at": moment.isoformat(), **row}
        late.append((moment, {"id": name, "is_fraud": label}))


def _rows_per_second(
    setting: Setting, form: str, learner: str, *, is_fitted: bool = False
) -> Measured:
    made = _made_up(setting.shape["cards"], setting.shape["days"])
    n_rows = made.n_rows(made.n_warm)
    rounds = []
    with TemporaryDirectory() as name:
        whole, first = Path(name, f"whole.{form}"), Path(name, f"first.{form}")
        _write(whole, made.lines)
        _write(first, made.lines[: made.n_warm])
        model = _fitted(made, Path(name, "fitted.toprank")) if is_fitted else None
        for _ in range(setting.shape["rounds"]):
            seconds = _seconds(whole, learner, model) - _seconds(first, learner, model)
            rounds.append(n_rows / seconds)
    return Measured(rounds, {"rows": n_rows, "lines": len(made.lines) - made.n_warm})


def _write(path: Path, lines: list[dict[str, Any]]) -> None:
    with path.open("w") as file:
        if path.suffix == ".csv":
            print(",".join(_COLUMNS), file=file)
            file.writelines(
                ",".join(str(line.get(name, "")) for name in _COLUMNS) + "\n" for line in lines
            )
        else:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)


def _fitted(made: _Lines, path: Path) -> Path:
    """Write a StreamRanker fitted on all lines, which has no refit due; return its file."""
    import pyarrow as pa

    from toprank import StreamRanker, save

    label_of = {line["id"]: line["is_fraud"] for line in made.lines if "is_fraud" in line}
    rows = [line for line in made.lines if "amount" in line and line["id"] in label_of]
    table = pa.Table.from_pylist(rows).select(["card", "terminal", "amount"])
    ranker = StreamRanker(refit_share=1e6, most_refit=2**53, random_state=SEED)
    save(ranker.fit(table, [label_of[row["id"]] for row in rows]), path)
    return path


def _seconds(events: Path, learner: str, model: Path | None = None) -> float:
    """Return the processor's seconds of a stream from its start to its end."""
    with TemporaryDirectory() as folder:
        if model is not None:
            shutil.copy(model, Path(folder, _MODEL))
        done = subprocess.run(
            [sys.executable, "-c", _TIMED, *_arguments(str(events), Path(folder), learner)],
            check=True,
            capture_output=True,
            text=True,
        )
    return float(done.stdout)


def _arguments(events: str, folder: Path, learner: str) -> list[str]:
    options = {
        "--model": folder / _MODEL,
        "-o": folder / "scores.ndjson",
        "--label": "is_fraud",
        "--drop": "paid_at",
        "--learner": learner,
    }
    return ["stream", events, *(str(each) for pair in options.items() for each in pair)]


def _single_lines(setting: Setting, learner: str) -> Measured:
    made = _made_up(setting.shape["cards"], setting.shape["days"])
    lines = made.lines[-setting.shape["lines"] :]
    rows = [f"{json.dumps(line)}\n".encode() for line in lines if "amount" in line]
    with TemporaryDirectory() as folder:
        arguments = _arguments("-", Path(folder), learner)
        del arguments[arguments.index("-o") : arguments.index("-o") + 2]  # to stdout
        run = subprocess.Popen(
            [sys.executable, "-c", _RUN, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert run.stdin is not None and run.stdout is not None
        stdin, stdout = run.stdin, run.stdout

        def answered(row: bytes) -> None:
            stdin.write(row)
            stdin.flush()
            stdout.readline()

        try:
            for row in rows[:100]:
                answered(row)
            return milliseconds_each(answered, rows[100:], setting.shape["rounds"])
        finally:
            stdin.close()
            time.sleep(0.1)
            run.wait(timeout=60)


_SHAPE = {"cards": 1_000, "days": 60, "rounds": 3}
_QUICK = {"cards": 300, "days": 20, "rounds": 1}
_LEAST_ROWS, _MOST_MS = 50_000, 5.0

RACES = (
    *(
        Race(
            name=f"stream-{learner}-{form}",
            what=f"toprank stream --learner {learner}, {form} with labels 7 days late",
            against="",
            unit="rows per second of the processor",
            measure=partial(_rows_per_second, form=form, learner=learner),
            shape=_SHAPE,
            quick=_QUICK,
            minutes=(3, 0.5),
            at_least=_LEAST_ROWS,
            needs="xgboost",
        )
        for learner in ("onlb", "stream-ranker")
        for form in ("ndjson", "csv")
    ),
    Race(
        name="stream-stream-ranker-no-refits",
        what="toprank stream with a fitted stream-ranker, no refits, ndjson, labels 7 days late",
        against="",
        unit="rows per second of the processor",
        measure=partial(_rows_per_second, form="ndjson", learner="stream-ranker", is_fitted=True),
        shape=_SHAPE,
        quick=_QUICK,
        minutes=(3, 0.5),
        at_least=_LEAST_ROWS,
        needs="xgboost",
    ),
    *(
        Race(
            name=f"stream-{learner}-line",
            what=f"toprank stream --learner {learner}, a single line through a pipe",
            against="",
            unit="ms (median)",
            measure=partial(_single_lines, learner=learner),
            shape={**_SHAPE, "lines": 10_000},
            quick={**_QUICK, "lines": 1_000},
            minutes=(0.5, 0.2),
            at_most=_MOST_MS,
            needs="xgboost",
        )
        for learner in ("onlb", "stream-ranker")
    ),
)
