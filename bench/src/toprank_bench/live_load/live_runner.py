"""Stages run one after the other, each with a row of its own."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from toprank_bench.live_load.live_stage import LiveStage, StageSetting
from toprank_bench.live_load.live_stages import FULL_WORLD, QUICK_WORLD
from toprank_bench.live_load.live_world import LiveWorld
from toprank_bench.live_load.stage_rows import live_file
from toprank_bench.provenance import provenance
from toprank_bench.resources import core_seconds, processor_seconds
from toprank_bench.row_file import Row, writing

_SEED = 0


class LiveRun(NamedTuple):
    """The file of the rows, those that are new, and stages that failed with their sentence."""

    path: Path
    rows: list[Row]
    failed: dict[str, str]


def run_stages(
    stages: Sequence[LiveStage],
    results: Path,
    *,
    quick: bool = False,
    is_pinned: bool = False,
    folder: Path | None = None,
    report: Callable[[str], None] = lambda sentence: None,
) -> LiveRun:
    """Run stages and append their rows; the last row of a stage counts.

    `folder` keeps the made-up payments and their model for the next run.
    """
    rows, failed = [], {}
    path = live_file(results, quick)
    with writing(path) as writer, TemporaryDirectory() as temporary:
        begin = time.perf_counter()
        report("making a desk, and its payments and model if they are not there yet")
        size = QUICK_WORLD if quick else FULL_WORLD
        world = LiveWorld.made(
            folder or Path(temporary), size, _SEED, desk=Path(temporary, "desk")
        )
        report(f"{world.n_before:,} payments are remembered ({time.perf_counter() - begin:.0f} s)")
        for stage in stages:
            row = _row(stage, world, quick, is_pinned)
            writer.append(row)
            rows.append(row)
            if "failed" in row:
                failed[stage.name] = row["failed"]
            report(f"{stage.name}: {row.get('failed', 'done')} ({row['seconds']:.0f} s)")
    return LiveRun(path, rows, failed)


def _row(stage: LiveStage, world: LiveWorld, quick: bool, is_pinned: bool) -> Row:
    """Return the row of one stage: its figures or, if it failed, a sentence."""
    options = {**stage.options, **(stage.quick if quick else {})}
    is_pinned = is_pinned and (os.cpu_count() or 1) > 1
    about = {
        "stage": stage.name,
        "options": options,
        "seed": _SEED,
        "remembered": world.n_before,
        "pinned": is_pinned,
    }
    begin, before, own = time.perf_counter(), core_seconds(), processor_seconds()
    try:
        with TemporaryDirectory(prefix="toprank-live-") as folder:
            setting = StageSetting(world, Path(folder), _SEED, options, is_pinned)
            outcome = stage.measure(setting)
        found = {
            "figures": [each.to_json() for each in outcome.figures],
            "facts": outcome.facts,
        }
    except Exception as error:  # the other stages must not go down with one
        found = {"failed": f"{type(error).__name__}: {error}"}
    seconds = time.perf_counter() - begin
    after = core_seconds()
    others = (after.busy - before.busy - (processor_seconds() - own)) / seconds
    load = {
        "seconds": round(seconds, 1),
        "cores_of_others": round(max(others, 0.0), 2),
        "stolen_cores": round((after.stolen - before.stolen) / seconds, 2),
    }
    return {**about, **found, **load, **provenance()}
