"""Commands killed at random moments: what they write is there as a whole, or not at all.

After each kill the model must load, its history must have all of what the command adds or nothing,
and the same command, run again, must end as it would have.
"""

import json
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from toprank.data.atomic import paths_beside
from toprank_bench.attack.card_model import CardModel, write_card_model
from toprank_bench.attack.commands_run import ended, run_here, started

_COMMANDS = ("rank", "label", "stream", "rank", "label", "stream", "refit")
_LONGEST = 1.1  # of the time that the command takes
_STREAM_ROWS = 4_000

Arguments = tuple[object, ...]


def killed_commands(n_trials: int, seed: int) -> Counter[str]:
    """Kill so many commands; return the failures by kind."""
    failures: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        base = Path(folder, "base")
        base.mkdir()
        write_card_model(base, n_later=2, seed=seed)
        card_model = _in(base)
        run_here("rank", card_model.model, card_model.days[0], "--remember", "-o", base / "a.csv")
        _write_events(base / "events.ndjson", seed)
        seconds: dict[str, float] = {}
        for number in range(n_trials):
            command = _COMMANDS[number % len(_COMMANDS)]
            place = Path(folder, f"trial{number}")
            shutil.copytree(base, place)
            if command not in seconds:
                seconds[command] = _seconds(command, Path(shutil.copytree(base, f"{place}-timed")))
            failure = _failure(command, place, seconds[command], random.Random(f"{seed} {number}"))
            if failure:
                failures[f"{command}: {failure}"] += 1
            shutil.rmtree(place)
    return failures


def _in(folder: Path) -> CardModel:
    files = [[folder / f"{name}{day}.parquet" for day in range(2)] for name in ("day", "labels")]
    return CardModel(folder / "m.toprank", *files)


def _arguments(command: str, folder: Path) -> Arguments:
    card_model = _in(folder)
    if command == "rank":
        return ("rank", card_model.model, card_model.days[1], "--remember", "-o", folder / "a.csv")
    if command == "label":
        return ("label", card_model.model, card_model.labels[0])
    if command == "refit":
        return ("refit", card_model.model, "--jobs", 1, "--silence", "2d")
    return (
        "stream", folder / "events.ndjson", "--model", folder / "online.toprank",
        "-o", folder / "scores.ndjson", "--checkpoint-every", 500,
    )  # fmt: skip


def _seconds(command: str, folder: Path) -> float:
    begin = time.monotonic()
    outcome = ended(started(*_arguments(command, folder)))
    if outcome.code != 0:
        raise ValueError(f"{command} fails without a kill: {outcome.remarks}")
    return time.monotonic() - begin


def _failure(command: str, folder: Path, seconds: float, draw: random.Random) -> str:
    card_model = _in(folder)
    before = card_model.counts()
    run = started(*_arguments(command, folder))
    time.sleep(draw.uniform(0, _LONGEST * seconds))
    run.kill()
    ended(run)
    try:
        after = card_model.counts()
    except Exception as error:
        return f"the history does not open: {type(error).__name__}"
    again = run_here(*_arguments(command, folder))
    if not again.is_sound or (again.code != 0 and after == before):
        return "the command does not run again"
    final = card_model.counts()
    if command in ("rank", "label") and after not in (before, final):
        return "half of it is in the history"
    if command == "stream" and not _has_each_once(folder):
        return "a score is missing or there twice"
    return "leftovers stay" if paths_beside(folder) else ""


def _has_each_once(folder: Path) -> bool:
    ids = [json.loads(line)["id"] for line in (folder / "scores.ndjson").open()]
    return ids == list(range(_STREAM_ROWS))


def _write_events(path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with path.open("w") as stream:
        for number in range(_STREAM_ROWS):
            amount = draw.uniform(0, 100)
            event = {"id": number, "amount": amount, "label": int(amount > 80)}
            stream.write(f"{json.dumps(event)}\n")
