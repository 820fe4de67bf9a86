"""Features of many files into a folder, step by step; a run that was ended is resumed."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from toprank.data import checks, tables
from toprank.data.tables.labels import positive_and_negative
from toprank.payments.feature_folder.feature_folder import NOTES, WORK, FeatureFolder, FolderDay
from toprank.payments.feature_folder.folder_plan import FolderPlan
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.folder_sources import (
    carried_columns,
    check_apart,
    check_later,
    new_files,
)
from toprank.payments.feature_folder.joined_days import day_path, join_day
from toprank.payments.feature_folder.key_parts import (
    key_groups,
    with_parts,
)
from toprank.payments.feature_folder.part_pasts import PartOfKeys
from toprank.payments.feature_folder.sorted_days import split_by_day, write_day
from toprank.payments.feature_folder.source_files import (
    SourceFile,
    common_schema,
    source_files,
)
from toprank.payments.history_store.writer_lock import WriterLock
from toprank.rankers.progress import Progress, silent
from toprank.workflow.task import class_names

_PLAN = "plan.json"


class MadeFeatures(NamedTuple):
    """The folder, the days that are new in it, and their rows."""

    folder: FeatureFolder
    n_new_days: int
    n_new_rows: int
    was_resumed: bool


def make_features(
    source: str | Path,
    folder: str | Path,
    settings: FolderSettings,
    *,
    gigabytes: float = 4.0,
    snapshot_seconds: float = 300.0,
    progress: Progress | None = None,
) -> MadeFeatures:
    """Write the payments in Parquet files with their features to a folder, a file per day.

    `source` is a file, a folder or a pattern. Memory stays below `gigabytes`, whatever the number
    of rows, by going through the days several times; with more, there are fewer times. A run that
    was ended is resumed by the same call, from a snapshot at most `snapshot_seconds` old. Where
    the folder has features already, only files that are new are read; their days must come after
    those in the folder.
    """
    checks.number_above(gigabytes, "gigabytes", 0)
    target, report = Path(folder), progress or silent
    needed = [*settings.roles.names, settings.label, *settings.drop, *settings.history().columns]
    files = source_files(source, list(dict.fromkeys(needed)))
    check_apart(files, target)
    work = target / WORK
    work.mkdir(parents=True, exist_ok=True)
    with _locked(work / "lock", target):
        known = FeatureFolder.open(target) if (target / NOTES).is_file() else None
        days, rows = _size(known)
        was_resumed = (work / _PLAN).is_file()
        if was_resumed:
            plan = FolderPlan.read(work / _PLAN)
            _check_same(plan.settings, settings, target)
            if _is_noted(plan, known):
                _tidy(plan, target)
            else:
                known = _made(plan, target, known, snapshot_seconds, report)
        elif known is not None:
            _check_same(known.settings, settings, target)
        new = _planned(files, target, settings, known, gigabytes, progress)
        if new is not None:
            known = _made(new, target, known, snapshot_seconds, report)
    assert known is not None
    n_days, n_rows = _size(known)
    return MadeFeatures(known, n_days - days, n_rows - rows, was_resumed)


def _size(folder: FeatureFolder | None) -> tuple[int, int]:
    return (0, 0) if folder is None else (len(folder.days), folder.n_rows)


@contextmanager
def _locked(path: Path, target: Path) -> Iterator[None]:
    lock = WriterLock(path, target, wait=0)
    try:
        yield
    finally:
        lock.release()


def _check_same(before: FolderSettings, now: FolderSettings, target: Path) -> None:
    difference = before.difference(now)
    if difference is not None:
        raise ValueError(
            f"{target} has features of other settings: {difference}; give the same ones, or name "
            "another folder."
        )


def _planned(
    found: Sequence[SourceFile],
    target: Path,
    settings: FolderSettings,
    known: FeatureFolder | None,
    gigabytes: float,
    progress: Progress | None,
) -> FolderPlan | None:
    """Split the new rows by day and return what is to be done with them; None if none are new."""
    work = target / WORK
    files = list(found) if known is None else new_files(found, known, target)
    if not files:
        return None
    columns = carried_columns(found, settings) if known is None else known.columns
    schema = common_schema(files, columns)
    shutil.rmtree(work / "pieces", ignore_errors=True)
    (work / "pieces").mkdir()
    split = split_by_day(files, schema, settings, work / "pieces", progress)
    if known is None:
        values = positive_and_negative(settings.label, split.labels, settings.positive)
        classes = class_names(*values)
        groups = with_parts(
            key_groups(settings.history()), split.days, settings.history(), gigabytes
        )
        parts = tuple((group.column, group.n_parts) for group in groups)
    else:
        check_later(split.days, known, target)
        classes, parts = known.classes, known.parts
    sources = tuple(file.note for file in files)
    plan = FolderPlan(settings, classes, tuple(columns), tuple(split.days), sources, parts)
    plan.write(work / _PLAN)
    return plan


def _made(
    plan: FolderPlan,
    target: Path,
    known: FeatureFolder | None,
    snapshot_seconds: float,
    progress: Progress,
) -> FeatureFolder:
    """Go through what is left of a plan; return the finished folder."""
    work, groups, settings = target / WORK, plan.groups(), plan.settings
    days = [each.day for each in plan.days]
    rows_path = work / "days"
    rows_path.mkdir(exist_ok=True)

    def file_of(day: np.datetime64) -> Path:
        return rows_path / f"{day}.parquet"

    for number, day in enumerate(days):
        progress("sorting the rows of each day", number, len(days))
        if not file_of(day).exists() and not day_path(target, day).exists():
            write_day(day, work / "pieces", file_of(day), settings, groups)
    progress("sorting the rows of each day", len(days), len(days))
    shutil.rmtree(work / "pieces", ignore_errors=True)
    parts = [
        (group, PartOfKeys(settings, group, number, work))
        for group in groups
        for number in range(group.n_parts)
    ]
    steps = _StepCounter(progress, "features of the past", len(parts) * len(days))
    for _, part in parts:
        part.run(days, file_of, plan.classes, steps.one, snapshot_seconds)
    for number, day in enumerate(days):
        progress("joining features and rows", number, len(days))
        own = [(group, part.folder / f"{day}.parquet") for group, part in parts]
        if not day_path(target, day).exists():
            join_day(file_of(day), own, day_path(target, day), settings)
        for path in (file_of(day), *(path for _, path in own)):
            path.unlink(missing_ok=True)
    progress("joining features and rows", len(days), len(days))
    made = _finished(plan, target, known)
    _tidy(plan, target)
    return made


def _tidy(plan: FolderPlan, target: Path) -> None:
    """Remove what only the run of a plan needs, and the plan itself in the end."""
    work = target / WORK
    for group in plan.groups():
        for number in range(group.n_parts):
            shutil.rmtree(
                PartOfKeys(plan.settings, group, number, work).folder, ignore_errors=True
            )
    shutil.rmtree(work / "days", ignore_errors=True)
    (work / _PLAN).unlink()


def _is_noted(plan: FolderPlan, known: FeatureFolder | None) -> bool:
    """Return whether a finished folder has the days of a plan, which only was not removed yet."""
    if known is None or not plan.days:
        return False
    return bool(plan.days[-1].day <= known.days[-1].day)


def _finished(plan: FolderPlan, target: Path, known: FeatureFolder | None) -> FeatureFolder:
    """Write the notes of the folder, with the new days."""
    new = tuple(_counted(day_path(target, each.day), each.day, plan) for each in plan.days)
    n_repeated = sum(each.n_rows for each in plan.days) - sum(each.n_rows for each in new)
    made = FeatureFolder(
        target,
        plan.settings,
        plan.classes,
        plan.columns,
        new,
        plan.sources,
        plan.parts,
        n_repeated,
    )
    if known is not None:
        made = replace(
            made,
            days=(*known.days, *new),
            sources=(*known.sources, *plan.sources),
            n_repeated=known.n_repeated + n_repeated,
        )
    made.write_notes()
    return made


class _StepCounter:
    """Reports one step after the other."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0

    def one(self) -> None:
        self._done += 1
        self._progress(self._what, self._done, self._total)


def _counted(path: Path, day: np.datetime64, plan: FolderPlan) -> FolderDay:
    labels = pq.read_table(path, columns=[plan.settings.label])
    truths = tables.truths(labels, plan.settings.label, *plan.classes)
    n_positives = int(np.count_nonzero(truths.fill_null(False).to_numpy(zero_copy_only=False)))
    return FolderDay(day, len(truths), n_positives, truths.null_count)
