"""What a run that fills a folder with features does, kept on disk until it is done."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toprank.data.atomic import atomic_path
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.key_parts import DayRows, KeyGroup, key_groups


@dataclass(frozen=True)
class FolderPlan:
    """What a run does: all of it is known once the rows are split by day."""

    settings: FolderSettings
    classes: tuple[Any, Any]
    columns: tuple[str, ...]
    days: tuple[DayRows, ...]
    sources: tuple[Any, ...]
    parts: tuple[tuple[str, int], ...]

    def groups(self) -> list[KeyGroup]:
        """Return the groups of features with their numbers of parts."""
        n_parts = dict(self.parts)
        groups = key_groups(self.settings.history())
        return [group._replace(n_parts=n_parts[group.column]) for group in groups]

    def write(self, path: Path) -> None:
        """Write the plan in one step."""
        plain = {
            "settings": self.settings.to_json(),
            "classes": self.classes,
            "columns": self.columns,
            "days": [[str(day), n_rows] for day, n_rows in self.days],
            "sources": self.sources,
            "parts": self.parts,
        }
        with atomic_path(path) as unfinished:
            unfinished.write_text(json.dumps(plain), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "FolderPlan":
        """Return the plan that `write` wrote."""
        plain = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            FolderSettings.from_json(plain["settings"]),
            (plain["classes"][0], plain["classes"][1]),
            tuple(plain["columns"]),
            tuple(DayRows(np.datetime64(day, "D"), n_rows) for day, n_rows in plain["days"]),
            tuple(plain["sources"]),
            tuple((column, n_parts) for column, n_parts in plain["parts"]),
        )
