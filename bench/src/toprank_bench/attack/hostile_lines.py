"""Hostile lines in a stream: the rows before and after are scored, and in the right order."""

import json
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toprank import metrics
from toprank_bench.attack.commands_run import run_here

_N_ROWS = 300  # before the hostile line, and after it
_LEAST_AP = 0.8
_TEXTS = (
    "\x00", "\ufeff", "null", "[]", "{}", "7", '"text"', "{", "}" * 100, "[" * 2_000, "\\", "NaN",
    '{"id": 1, "id": 2, "amount": 3}', '{"amount": NaN}', '{"amount": Infinity}',
    '{"amount": 1e999}', '{"amount": "\\ud800"}', '{"\\ud800": 1}', '{"label": 1}', '{"id": null}',
    "x" * 1_500_000, '{"amount": ' + "9" * 5_000 + "}", "\udcff\udcfe", "a,b,c", "\t", " ",
    '{"amount": {"a": 1}}', '{"amount": [1, 2]}', '{"id": {"a": 1}, "amount": 2}',
)  # fmt: skip


def hostile_lines(n_trials: int, seed: int) -> Counter[str]:
    """Send so many hostile lines, each within ordinary ones; return the failures by kind."""
    failures: Counter[str] = Counter()
    for number in range(n_trials):
        draw = random.Random(f"{seed} {number}")
        failure = _failure(_hostile_line(draw, number), draw)
        if failure:
            failures[failure] += 1
    return failures


def _hostile_line(draw: random.Random, number: int) -> str:
    if number < len(_TEXTS):
        return _TEXTS[number]
    odd: list[Any] = [
        *(10.0 ** draw.randint(3, 99), -(10.0 ** draw.randint(3, 99)), "1,234.5", "EUR 9,50"),
        *("=cmd()", "\x1b[31mred", "", None, True, 0, -0.0, 5e-324, "9" * 50, "NaN", "\u202e"),
    ]
    event = {"id": draw.choice([f"r{draw.randrange(_N_ROWS)}", "new", 7, ""])}
    event |= {draw.choice(["amount", "shop", "new\x1b field", "x" * 300]): draw.choice(odd)}
    if draw.random() < 0.5:
        event["label"] = draw.choice([0, 1, True, "yes", 2, None, 1e308, "fraud", [], "\x1b"])
    return json.dumps(event)


def _failure(line: str, draw: random.Random) -> str:
    rows = [_row(draw, number) for number in range(2 * _N_ROWS)]
    lines = [json.dumps(row) for row in rows]
    lines.insert(_N_ROWS, line)
    with TemporaryDirectory() as folder:
        events, scores = Path(folder, "events.ndjson"), Path(folder, "scores.ndjson")
        raw = "".join(f"{each}\n" for each in lines)
        events.write_bytes(raw.encode("utf-8", "surrogateescape"))
        model = Path(folder, "m.toprank")
        outcome = run_here("stream", events, "--model", model, "-o", scores)
        if outcome.code != 0:
            return "the stream stopped" if outcome.is_sound else "traceback"
        written = [json.loads(each, parse_constant=_refuse) for each in scores.open()]
        by_id = {each["id"]: each["suspicion"] for each in written}
        if any(row["id"] not in by_id for row in rows):
            return "a score is missing"
        again = run_here("stream", events, "--model", model, "-o", scores)
        if again.code != 0:
            return "the stream cannot be resumed"
    later = rows[_N_ROWS + 100 :]
    ap = metrics.average_precision(
        np.array([row["label"] for row in later], dtype=bool),
        np.array([by_id[row["id"]] for row in later]),
    )
    return "" if ap >= _LEAST_AP else "the order of ordinary rows is lost"


def _row(draw: random.Random, number: int) -> dict[str, Any]:
    amount = draw.uniform(0, 100)
    label = int(amount + draw.gauss(0, 3) > 70)
    return {"id": f"r{number}", "amount": amount, "shop": draw.choice("abc"), "label": label}


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
