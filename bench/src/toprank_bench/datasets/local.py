"""Data sets in a folder: NAME.parquet, with a column `y` of 0 and 1."""

import os
from pathlib import Path

from toprank.data.tables.read import read_table
from toprank_bench.datasets.dataset import Dataset, from_table
from toprank_bench.datasets.places import NotHere

VARIABLE = "TOPRANK_DATA"


def find(name: str, folder: str | Path | None) -> Dataset | NotHere:
    """Return the set in NAME.parquet of `folder`, or of the folder that TOPRANK_DATA names."""
    looked_in = _folder(folder)
    if looked_in is None:
        return NotHere(
            f"no folder ({VARIABLE} is not set)",
            f"set {VARIABLE} to a folder with {name}.parquet",
        )
    path = looked_in / f"{name}.parquet"
    if not path.is_file():
        return NotHere(f"the folder {looked_in}", f"put {path.name} into that folder")
    return from_table(name, read_table(path), f"the file {path}")


def names(folder: str | Path | None) -> list[str]:
    """Return the names of the Parquet files in the folder."""
    looked_in = _folder(folder)
    return [path.stem for path in looked_in.glob("*.parquet")] if looked_in else []


def _folder(folder: str | Path | None) -> Path | None:
    given = os.environ.get(VARIABLE) if folder is None else folder
    if not given:
        return None
    path = Path(given).expanduser()
    if not path.is_dir():
        called = VARIABLE if folder is None else "folder"
        raise ValueError(f"{called} must name a folder; there is none at {path}.")
    return path
