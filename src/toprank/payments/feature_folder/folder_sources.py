"""Which files a folder of features takes in, and which of their columns."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from toprank.data.tables import TableError, TableWarning
from toprank.payments.feature_folder.feature_folder import FeatureFolder
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.key_parts import DayRows
from toprank.payments.feature_folder.source_files import SourceFile


def check_apart(files: Sequence[SourceFile], target: Path) -> None:
    """Raise if the files to read include those of the folder to write."""
    inside = [each.path for each in files if target.resolve() in each.path.resolve().parents]
    if inside:
        raise ValueError(
            f"{inside[0]} is in the folder to write, {target}; name another folder for the "
            "features, or a pattern that leaves it out."
        )


def new_files(files: Sequence[SourceFile], known: FeatureFolder, target: Path) -> list[SourceFile]:
    """Return the files that were not read before; a file that has changed is refused."""
    before = {path: counts for path, *counts in known.sources}
    new = []
    for file in files:
        path, *counts = file.note
        if path not in before:
            new.append(file)
        elif before[path] != counts:
            raise ValueError(
                f"{file.path} has changed since its features were computed: it has "
                f"{file.n_rows:,} rows and had {before[path][0]:,}; make the features again in "
                f"another folder than {target}."
            )
    return new


def check_later(days: Sequence[DayRows], known: FeatureFolder, target: Path) -> None:
    """Raise unless new rows come after the days of the folder, whose features are final."""
    last = known.days[-1].day
    if days and days[0].day <= last:
        raise TableError(
            f"new files must have later days than {target}, which ends on {last}; they have "
            f"{days[0].n_rows:,} rows of {days[0].day}; make the features again in another folder."
        )


def carried_columns(files: Sequence[SourceFile], settings: FolderSettings) -> tuple[str, ...]:
    """Return the columns that all files have, without those to drop."""
    shared = set.intersection(*(set(file.schema.names) for file in files))
    everywhere = [name for name in files[0].schema.names if name in shared]
    for file in files:
        for name in file.schema.names:
            if name not in shared:
                lacking = next(each for each in files if name not in each.schema.names)
                warnings.warn(
                    f"column {name!r} of {file.path} is left out; {lacking.path} lacks it.",
                    TableWarning,
                    stacklevel=4,
                )
                shared.add(name)  # said once
    names = [name for name in everywhere if name not in settings.drop]
    history = settings.history()
    for name in names:
        if name in history.names and name not in history.columns:
            raise TableError(
                f"the files must not have a column with the name of a feature; they have "
                f"{name!r}; rename it, or leave it out with `drop={[name]!r}`."
            )
    return tuple(names)
