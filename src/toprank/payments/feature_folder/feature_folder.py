"""A folder of payments with their features, by day, as `make_features` leaves it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data.atomic import PRIVATE, atomic_path
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.joined_days import day_path

NOTES = "features.json"
WORK = "_work"
_VERSION = 1


class FolderDay(NamedTuple):
    """One day: its payments, the positives among them, and those without a label."""

    day: np.datetime64
    n_rows: int
    n_positives: int
    n_unlabelled: int


@dataclass(frozen=True)
class FeatureFolder:
    """Payments with their features, in one Parquet file per day.

    `classes` are the two labels, the positive first. `sources` are the files that were read, with
    their rows and bytes, and `parts` the number of parts by the column that splits them.

    >>> from tempfile import TemporaryDirectory
    >>> from toprank.payments.feature_folder import FolderSettings, make_features
    >>> from toprank.payments.roles import Roles
    >>> from toprank.simulator import Simulation, write_parquet
    >>> roles = Roles("paid_at", "card", "terminal", "amount", "id")
    >>> with TemporaryDirectory() as place:
    ...     _ = write_parquet(Simulation(50, 100, 20), f"{place}/payments.parquet")
    ...     made = make_features(f"{place}/*.parquet", f"{place}/features",
    ...                          FolderSettings(roles, "is_fraud"))
    ...     folder = FeatureFolder.open(f"{place}/features")
    >>> len(folder.days), folder.n_rows == sum(each.n_rows for each in folder.days)
    (20, True)
    """

    path: Path
    settings: FolderSettings
    classes: tuple[Any, Any]
    columns: tuple[str, ...]
    days: tuple[FolderDay, ...]
    sources: tuple[Any, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    n_repeated: int = 0

    @classmethod
    def is_at(cls, path: str | Path) -> bool:
        """Return whether a folder has features, or is being filled with them."""
        folder = Path(path)
        return (folder / NOTES).is_file() or (folder / WORK).is_dir()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Return the finished folder at this path; an error says what is wrong with another."""
        folder = Path(path)
        if not (folder / NOTES).is_file():
            if (folder / WORK).is_dir():
                raise FileNotFoundError(
                    f"the features in {folder} are not finished; run the same toprank features "
                    "again."
                )
            raise FileNotFoundError(
                f"{folder} must be a folder of features; it has no {NOTES}; make one with: "
                "toprank features"
            )
        try:
            plain = json.loads((folder / NOTES).read_text(encoding="utf-8"))
            if plain["version"] != _VERSION:
                raise ValueError(f"its version is {plain['version']!r}")
            return cls(
                folder,
                FolderSettings.from_json(plain["settings"]),
                (plain["classes"][0], plain["classes"][1]),
                tuple(plain["columns"]),
                tuple(
                    FolderDay(np.datetime64(day, "D"), *counts) for day, *counts in plain["days"]
                ),
                tuple(plain["sources"]),
                tuple((column, n_parts) for column, n_parts in plain["parts"]),
                plain["n_repeated"],
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{folder / NOTES} is not what toprank wrote ({error}); make the features again "
                "in another folder."
            ) from error

    def write_notes(self) -> None:
        """Write `features.json`, which makes the folder a finished one."""
        plain = {
            "version": _VERSION,
            "settings": self.settings.to_json(),
            "classes": self.classes,
            "columns": self.columns,
            "days": [[str(day), *counts] for day, *counts in self.days],
            "sources": self.sources,
            "parts": self.parts,
            "n_repeated": self.n_repeated,
        }
        with atomic_path(self.path / NOTES, mode=PRIVATE) as unfinished:
            unfinished.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")

    @property
    def n_rows(self) -> int:
        """The number of payments."""
        return sum(each.n_rows for each in self.days)

    def file_of(self, day: np.datetime64) -> Path:
        """Return the file of a day."""
        return day_path(self.path, day)

    def batches(
        self, days: Sequence[np.datetime64], columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of these days in order of time, a row group at a time."""
        for day in days:
            path = self.file_of(day)
            if not path.is_file():
                raise FileNotFoundError(
                    f"{path} is missing: it has the features of {day}; make the features again in "
                    "another folder."
                )
            with pq.ParquetFile(path) as opened:
                names = None if columns is None else list(columns)
                for number in range(opened.num_row_groups):
                    yield opened.read_row_group(number, columns=names)
