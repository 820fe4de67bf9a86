"""A copy of a desk that is whole, made while the desk is in use.

The database is copied last: snapshots and archive then hold nothing that it does not have yet, and
whoever opens the copy reads the log after the newest snapshot, as after any restart.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from toprank.live.desk import ARCHIVE, MODELS, SNAPSHOTS, Desk
from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import NAME as SETTINGS
from toprank.live.store import audit_chain
from toprank.live.store.sqlite_database import NAME as DATABASE


def back_up(desk: Desk, target: str | os.PathLike[str], actor: str) -> int:
    """Write a copy of a desk to a new folder, which appears when it is whole; return its bytes."""
    target = Path(target)
    if target.exists():
        raise FileExistsError(f"{target} exists already; choose another folder for the backup.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to make {target.name} in.")
    with desk.database.writing() as connection:
        audit_chain.add(connection, wall_time(), actor, "backup made", target.name)
    unfinished = target.with_name(f".{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(mode=0o700)
        with desk.tidying():
            for name in (MODELS, SNAPSHOTS, ARCHIVE):
                _copy_folder(desk.folder / name, unfinished / name)
            shutil.copy2(desk.folder / SETTINGS, unfinished / SETTINGS)
            if desk.settings.database:  # the copy has its data in its folder
                replace(desk.settings, database="").write(unfinished)
            desk.database.back_up(unfinished / DATABASE)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return sum(each.stat().st_size for each in target.rglob("*") if each.is_file())


def _copy_folder(source: Path, target: Path) -> None:
    """Copy the files of a folder; one that is removed meanwhile was replaced by a newer one."""
    target.mkdir(mode=0o700)
    for each in sorted(source.iterdir(), reverse=True):  # the newest first
        try:
            shutil.copy2(each, target / each.name)
        except FileNotFoundError:
            continue
