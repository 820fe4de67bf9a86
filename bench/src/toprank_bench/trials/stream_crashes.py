"""A stream that is killed many times, compared with one that is not: nothing may differ.

Made-up payments of ten columns with text and gaps; half of the labels come late, as lines of their
own. `toprank stream` gets SIGKILL at random points of its output, and is started again each time.
At the end, what was learned, the window, the pending rows, the counts and the file of scores must
be, bit for bit, those of a run that nobody killed.
"""

import json
import random
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toprank import files
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("parts_that_differ", "kills", "most_rows_lost", "rows_per_second")
DATA = ("made-up payments",)
_CHECKPOINT_EVERY = 10_000
_BYTES_PER_SCORE = 110  # about; more for alerts, which have reasons
_DELAY = 2_000  # rows between a row and its late label


def stream_crashes(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    learner: str = "stream-ranker",
    rows: int = 200_000,
    kills: int = 20,
) -> TrialOutcome:
    """Return how many parts differ after so many kills, and how many rows a kill undid."""
    with TemporaryDirectory() as name:
        events = Path(name, "events.ndjson")
        n_lines = _write_events(events, rows, seed)
        killed, whole = Path(name, "killed"), Path(name, "whole")
        arguments = [str(events), "--learner", learner]
        lost = _killed_run(arguments, killed, kills, rows, seed)
        begin = time.perf_counter()
        _started(arguments, whole).wait()
        seconds = time.perf_counter() - begin
        differing = _differences(killed, whole)
    return TrialOutcome(
        {
            "parts_that_differ": len(differing),
            "kills": len(lost),
            "most_rows_lost": max(lost, default=0),
            "rows_per_second": rows / seconds,
        },
        {"learner": learner, "rows": rows, "kills": kills},
        {"run without kills": round(seconds, 3)},
        {
            "rows": rows,
            "lines": n_lines,
            "checkpoint_every": _CHECKPOINT_EVERY,
            "rows_lost_per_kill": lost,
            "differing": differing,
        },
    )


def _killed_run(
    arguments: list[str], name: Path, n_kills: int, n_rows: int, seed: int
) -> list[int]:
    """Return how many scored rows each kill undid, which the next start scored again."""
    draw = random.Random(seed)
    lost = []
    for target in sorted(draw.randrange(n_rows * _BYTES_PER_SCORE) for _ in range(n_kills)):
        run = _started(arguments, name)
        while run.poll() is None and _n_bytes(name) < target:
            time.sleep(0.005)
        time.sleep(0.1 * draw.random())  # so that some kills come while a file is being saved
        run.kill()
        if run.wait() == 0:
            break  # it finished first
        lost.append(_n_scored(name) - _n_saved(name))
    _started(arguments, name).wait()
    return lost


def _started(arguments: list[str], name: Path) -> subprocess.Popen:
    files_of_run = ("--model", _model(name), "-o", _scores(name))
    more = ("--checkpoint-every", _CHECKPOINT_EVERY, "--window", 20_000)
    return subprocess.Popen(
        [sys.executable, "-c", "from toprank.cli import main; main()", "stream", *arguments]
        + [str(each) for each in (*files_of_run, *more)],
        stderr=subprocess.DEVNULL,
    )


def _differences(killed: Path, whole: Path) -> list[str]:
    """Return the names of all parts that are not the same in both."""
    one, other = (files.load(_model(name))._to_saved() for name in (killed, whole))
    names = [name for name in one.state if one.state[name] != other.state[name]]
    names += [
        name
        for name in one.arrays.keys() | other.arrays.keys()
        if one.arrays[name].tobytes() != other.arrays[name].tobytes()
    ]
    if _scores(killed).read_bytes() != _scores(whole).read_bytes():
        names.append("scores")
    return sorted(names)


def _n_bytes(name: Path) -> int:
    return _scores(name).stat().st_size if _scores(name).exists() else 0


def _n_scored(name: Path) -> int:
    return _scores(name).read_bytes().count(b"\n") if _scores(name).exists() else 0


def _n_saved(name: Path) -> int:
    if not _model(name).exists():
        return 0
    manifest = files.read_manifest(_model(name))
    return manifest["state"]["counters"]["n_scored"]


def _model(name: Path) -> Path:
    return name.with_suffix(".toprank")


def _scores(name: Path) -> Path:
    return name.with_suffix(".ndjson")


def _write_events(path: Path, n_rows: int, seed: int) -> int:
    """Write rows and late labels; return how many lines that makes."""
    draw = random.Random(seed)
    late: deque[dict[str, Any]] = deque()
    n_lines = 0
    with path.open("w") as stream:
        for number in range(n_rows):
            is_fraud = draw.random() < 0.02
            row = _payment(draw, number, is_fraud)
            if number % 2:
                late.append({"id": row["id"], "label": int(is_fraud)})
            else:
                row["label"] = int(is_fraud)
            lines = [row, *([late.popleft()] if len(late) > _DELAY // 2 else [])]
            stream.writelines(f"{json.dumps(line)}\n" for line in lines)
            n_lines += len(lines)
    return n_lines


def _payment(draw: random.Random, number: int, is_fraud: bool) -> dict[str, Any]:
    row = {
        "id": f"payment-{number}",
        "amount": round(draw.lognormvariate(4.0 if is_fraud else 3.0, 1.0), 2),
        "country": draw.choice(["DE", "ES", "FR", "IT", "PL"]),
        "merchant": f"m{draw.randrange(500)}",
        "hour": draw.randrange(5) if is_fraud and draw.random() < 0.5 else draw.randrange(24),
        "is_card_present": draw.random() < 0.7,
        **{f"other_{j}": round(draw.gauss(0.5 * is_fraud, 1.0), 4) for j in range(5)},
    }
    for name in ("merchant", "other_0"):
        if draw.random() < 0.1:
            row[name] = None
    return row
