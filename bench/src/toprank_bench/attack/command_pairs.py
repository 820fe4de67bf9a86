"""Two commands at the same moment: each does its work, or says that the other one is at work."""

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from toprank_bench.attack.card_model import CardModel, write_card_model
from toprank_bench.attack.commands_run import Outcome, ended, run_here, started

_PAIRS = (("rank", "label"), ("label", "rank"), ("stream", "stream"), ("rank", "refit"))

Arguments = tuple[object, ...]


def command_pairs(n_trials: int, seed: int) -> Counter[str]:
    """Start so many pairs; return the failures by kind."""
    failures: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        base = Path(folder, "base")
        base.mkdir()
        card_model = write_card_model(base, n_later=2, seed=seed)
        run_here("rank", card_model.model, card_model.days[0], "--remember", "-o", base / "a.csv")
        lines = [f'{{"id": {number}, "amount": {number % 7}}}\n' for number in range(20_000)]
        (base / "events.ndjson").write_text("".join(lines))
        for number in range(n_trials):
            place = Path(shutil.copytree(base, Path(folder, f"trial{number}")))
            pair = _PAIRS[number % len(_PAIRS)]
            failure = _failure(pair, place)
            if failure:
                failures[f"{' and '.join(pair)}: {failure}"] += 1
            shutil.rmtree(place)
    return failures


def _failure(pair: tuple[str, str], folder: Path) -> str:
    files = [[folder / f"{name}{day}.parquet" for day in range(2)] for name in ("day", "labels")]
    card_model = CardModel(folder / "m.toprank", *files)
    n_rows, n_labels = card_model.counts()
    runs = [started(*_arguments(command, number, folder)) for number, command in enumerate(pair)]
    outcomes = [ended(run) for run in runs]
    if not all(each.is_sound for each in outcomes):
        return "traceback"
    done = [command for command, each in zip(pair, outcomes, strict=True) if each.code == 0]
    if not done:
        return "neither did its work"
    if pair == ("stream", "stream"):
        return _failure_of_streams(outcomes, folder)
    expected = (
        n_rows + ("rank" in done) * _n_rows(card_model.days[1]),
        n_labels + ("label" in done) * _n_rows(card_model.labels[0]),
    )
    return "" if card_model.counts() == expected else "one of the two is lost"


def _failure_of_streams(outcomes: list[Outcome], folder: Path) -> str:
    """Two streams write to one file: one is refused, or comes when the other has ended."""
    n_lines = len((folder / "scores.ndjson").read_text().splitlines())
    if n_lines != 20_000:
        return "scores of two streams in one file"
    both = all(each.code == 0 for each in outcomes)
    kept = folder / "scores.ndjson.before"
    return "scores are lost" if both and not kept.exists() else ""


def _arguments(command: str, number: int, folder: Path) -> Arguments:
    model = folder / "m.toprank"
    if command == "rank":
        return ("rank", model, folder / "day1.parquet", "--remember", "-o", folder / "a.csv")
    if command == "label":
        return ("label", model, folder / "labels0.parquet")
    if command == "refit":
        return ("refit", model, "--jobs", 1, "--silence", "2d")
    own = folder / f"online{number}.toprank"
    return ("stream", folder / "events.ndjson", "--model", own, "-o", folder / "scores.ndjson")


def _n_rows(path: Path) -> int:
    return pq.read_metadata(path).num_rows
