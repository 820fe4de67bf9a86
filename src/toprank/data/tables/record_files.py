"""Tables that are no CSV and no Parquet: JSON, one JSON object per line, Excel, Feather.

JSON and Excel are read as a whole; Feather (Arrow's own format) in batches.
"""

import gzip
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from toprank.data.tables.columns import TableError, TableWarning, plain_names, shortened

_GZIP = b"\x1f\x8b"
_FEATHER_MAGIC = b"ARROW1"
_OLD_FEATHER_MAGIC = b"FEA1"
_ZIP_MAGIC = b"PK\x03\x04"
_BLOCK = 16 << 20  # bytes of JSON lines parsed at a time; a line must fit


def kind_of_file(path: Path, start: bytes) -> str | None:
    """Return "json", "ndjson", "excel" or "feather" by the first bytes; None for other files."""
    if start.startswith(_FEATHER_MAGIC):
        return "feather"
    if start.startswith(_OLD_FEATHER_MAGIC):
        raise TableError(
            f"{path.name} is a Feather file of version 1; write it again as version 2, as Parquet "
            "or as CSV."
        )
    if start.startswith(_ZIP_MAGIC):
        return _kind_of_zip(path)
    if start.startswith(_GZIP):
        with _unpacking(path), gzip.open(path, "rb") as file:
            start = file.read(64)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return {b"{": "ndjson", b"[": "json"}.get(text[:1])


def read_whole(path: Path, kind: str, encoding: str | None = None) -> pa.Table:
    """Return all rows of a file of this kind, columns as it has them."""
    if kind == "feather":
        with opened_feather(path) as file:
            table = file.read_all()
    elif kind == "excel":
        table = _from_excel(path)
    else:
        table = _from_json(path, kind, encoding)
    return table.rename_columns(plain_names(table.column_names, path.name))


@contextmanager
def opened_feather(path: Path) -> Iterator[Any]:
    """Give Arrow's reader of a Feather file."""
    try:
        with pa.memory_map(str(path)) as source:
            yield pa.ipc.open_file(source)
    except pa.ArrowException as error:
        raise TableError(
            f"{path.name} must be a whole Feather file; it is cut short or damaged; write it "
            "again."
        ) from error


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{path.name} must be a whole gzip file; it is cut short or damaged; write it again."
        ) from error


def _kind_of_zip(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return None
    if "xl/workbook.xml" in names:
        return "excel"
    if "manifest.json" in names:
        raise TableError(
            f"{path.name} must be a table; it is a model of toprank; name the table in its place."
        )
    return None


def _from_excel(path: Path) -> pa.Table:
    """Return the first sheet of a workbook, whose first row has the names."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(
            f"{path.name} is an Excel file, and reading it requires openpyxl: pip install "
            "'toprank[excel]', or save the sheet as CSV."
        ) from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = book.sheetnames
        rows = [row for row in book.worksheets[0].iter_rows(values_only=True) if _has_cells(row)]
        book.close()
    except (zipfile.BadZipFile, KeyError, IndexError, ValueError, SyntaxError) as error:
        raise TableError(
            f"{path.name} must be a whole Excel file; it is cut short or damaged; save it again."
        ) from error
    if not rows:
        raise TableError(f"{path.name} must hold a table; its first sheet is empty.")
    if len(sheets) > 1:
        warnings.warn(
            f"{path.name} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read.",
            TableWarning,
            stacklevel=4,
        )
    header, *cells = rows
    n_columns = max(i + 1 for i, name in enumerate(header) if name is not None)
    names = ["" if name is None else str(name) for name in header[:n_columns]]
    columns = list(zip(*cells, strict=True))[:n_columns] or [()] * n_columns
    arrays = [_column(list(values)) for values in columns]
    return pa.Table.from_arrays(arrays, names=names)


def _has_cells(row: tuple[Any, ...]) -> bool:
    return any(cell is not None for cell in row)


def _from_json(path: Path, kind: str, encoding: str | None) -> pa.Table:
    data = path.read_bytes()
    if data.startswith(_GZIP):
        with _unpacking(path):
            data = gzip.decompress(data)
    if encoding is None and kind == "ndjson":
        options = pajson.ReadOptions(block_size=min(max(len(data), 1), _BLOCK))
        try:
            return _checked_keys(pajson.read_json(io.BytesIO(data), options))
        except pa.ArrowInvalid:
            pass  # mixed types, or a line that is no JSON: found below
    try:
        text = data.decode(encoding or "utf-8-sig")
    except UnicodeError as error:
        raise TableError(
            f"{path.name} must be {encoding or 'UTF-8'}; some text is not; save it as UTF-8, or "
            "name its encoding with `encoding`."
        ) from error
    if kind == "ndjson":
        records = [_record(line, n, path) for n, line in enumerate(text.splitlines(), 1) if line]
    else:
        records = _records(text, path)
    if not records:
        raise TableError(f"{path.name} must hold at least one row; it has none.")
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = [_column([record.get(name) for record in records]) for name in names]
    return pa.Table.from_arrays(columns, names=names)


def _checked_keys(table: pa.Table) -> pa.Table:
    if not table.num_columns:
        raise pa.ArrowInvalid("there are no columns")
    return table


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise TableError(
            f'{path.name} must have one JSON object per line, such as {{"amount": 9.5}}; line '
            f"{number:,} has {shortened(line)}; correct it."
        )
    return record


def _records(text: str, path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise TableError(f"{path.name} must be JSON; {error}; write it again.") from error
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise TableError(
            f"{path.name} must be a JSON array of objects, one per row, such as "
            '[{"amount": 9.5}]; it is something else; write it so, or as CSV.'
        )
    return found


def _column(values: list[Any]) -> pa.Array:
    """Return values as one column; text where they are of several kinds."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        texts = [_text(each) for each in values]
        return pa.array(texts, pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str)
