"""CSV files and their kin: which delimiter, which columns, and what is wrong in which line."""

import codecs
import csv
import gzip
import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.types as pt

from toprank.data.tables import decimals
from toprank.data.tables.columns import (
    TableError,
    TableWarning,
    check_columns,
    check_distinct,
    shortened,
)
from toprank.data.tables.schema import Schema

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")

_DELIMITERS = ",;\t|"
_HEAD = 1 << 20  # bytes in which the header must end
_BLOCK = 4 << 20  # bytes parsed at a time; a row must fit
_GZIP = b"\x1f\x8b"
_OTHER_FILES = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"SQLite format 3": "an SQLite database",
}
_ARROW_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "category": pa.string()}
_TYPE_WORDS = {"double": "numbers", "int64": "whole numbers", "bool": "true or false"}


class Layout(NamedTuple):
    """How a delimited file is laid out, as its header line and the rows after it tell.

    `decimals` holds an example from each column with decimals, where their mark may be a comma.
    """

    delimiter: str
    names: list[str]
    decimals: dict[str, str]


def read(
    path: Path,
    columns: Sequence[str] | None,
    as_text: Sequence[str] = (),
    required: Sequence[str] = (),
) -> pa.Table:
    """Return all rows of a delimited file, types inferred from all of them."""
    layout = layout_of(path)
    check_columns([*required, *(columns or []), *as_text], layout.names, path.name)
    with _explained(path, layout), _arrow_file(path) as file:
        table = pacsv.read_csv(
            _unpacked(file, path),
            read_options=pacsv.ReadOptions(block_size=_BLOCK),
            parse_options=_parse_options(layout),
            convert_options=_inferred_types(layout, columns, as_text),
        )
    _check_text(table.schema, path)
    _warn_of_decimals(table.schema, layout, path)
    if not table.num_rows:
        raise _no_rows(path)
    return table


def batches(
    path: Path, schema: Schema | None, on_bytes: Callable[[int], None] | None
) -> Iterator[pa.RecordBatch]:
    """Return the rows block by block; see `read_batches` for what `schema` fixes."""
    layout = layout_of(path)
    check_columns(schema.names if schema else [], layout.names, path.name)
    types = _fixed_types(layout, schema) if schema else _inferred_types(layout)
    return _parsed_blocks(path, layout, types, on_bytes)


def text_batches(
    path: Path,
    layout: Layout,
    schema: Schema | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return the rows block by block with every field as the text it is in the file."""
    check_columns(schema.names if schema else [], layout.names, path.name)
    types = dict.fromkeys(layout.names, pa.string())
    as_text = pacsv.ConvertOptions(strings_can_be_null=False, column_types=types)
    return _parsed_blocks(path, layout, as_text, on_bytes)


def layout_of(path: Path) -> Layout:
    """Return delimiter, column names and decimals; raise when the start is not a table's."""
    with _explained(path, None), path.open("rb") as file:
        head = _python_stream(file).read(_HEAD)
    text = _decoded(head, path).lstrip("\r\n")
    if not text:
        raise TableError(f"{path.name} must hold a table; it is empty.")
    header, *rest = re.split(r"[\r\n]", text, maxsplit=1)
    if not rest and len(head) == _HEAD:
        raise TableError(
            f"{path.name} must be a CSV or Parquet file; its first line does not end within "
            f"{_HEAD:,} bytes; check that it is a table."
        )
    delimiter = _delimiter_of(header)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with _explained(path, None):
        names = next(rows)
    check_distinct(names, path.name)
    if delimiter == "," or "," not in text:
        return Layout(delimiter, names, {})
    return Layout(delimiter, names, decimals.decimal_examples(_fields_by_column(rows, names)))


def _decoded(head: bytes, path: Path) -> str:
    for start, what in _OTHER_FILES.items():
        if head.startswith(start):
            raise TableError(
                f"{path.name} must be a CSV or Parquet file; it is {what}; save the table as CSV."
            )
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TableError(f"{path.name} must be UTF-8; it is UTF-16; save it as UTF-8.")
    if b"\0" in head:
        raise TableError(
            f"{path.name} must be a CSV or Parquet file; it holds binary data; "
            "save the table as CSV in UTF-8."
        )
    try:  # the incremental decoder forgives a character that the end of `head` cuts
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{path.name} must be UTF-8; byte 0x{head[error.start]:02x} in line {line} is not; "
            "save it as UTF-8 (it may be Latin-1 or Windows-1252)."
        ) from error


def _delimiter_of(header: str) -> str:
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=unquoted.count)  # the first of equals, so a comma when none


def _fields_by_column(rows: Iterable[list[str]], names: Sequence[str]) -> dict[str, list[str]]:
    whole: list[list[str]] = []
    with suppress(csv.Error):  # what is wrong with a row is told when all of them are read
        whole.extend(row for row in rows if len(row) == len(names))
    return {
        name: [field for field in fields if field not in MISSING]
        for name, fields in zip(names, zip(*whole, strict=True), strict=False)
    }


def _parse_options(layout: Layout) -> pacsv.ParseOptions:
    return pacsv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)


def _parsed_blocks(
    path: Path,
    layout: Layout,
    types: pacsv.ConvertOptions,
    on_bytes: Callable[[int], None] | None,
) -> Iterator[pa.RecordBatch]:
    n_rows = 0
    with (
        _explained(path, layout),
        _arrow_file(path) as file,
        pacsv.open_csv(
            _unpacked(file, path),
            read_options=pacsv.ReadOptions(block_size=_BLOCK),
            parse_options=_parse_options(layout),
            convert_options=types,
        ) as reader,
    ):
        _check_text(reader.schema, path)
        for n_blocks, batch in enumerate(reader, 1):
            n_rows += batch.num_rows
            if on_bytes:  # the file is read far ahead of the blocks that were given out
                on_bytes(min(n_blocks * _BLOCK, file.tell()))
            yield batch
    if not n_rows:
        raise _no_rows(path)


def _inferred_types(
    layout: Layout, columns: Sequence[str] | None = None, as_text: Sequence[str] = ()
) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=dict.fromkeys(as_text, pa.string()),
        null_values=MISSING,
        strings_can_be_null=True,
        include_columns=columns,
        decimal_point=decimals.decimal_mark(list(layout.decimals.values())),
    )


def _fixed_types(layout: Layout, schema: Schema) -> pacsv.ConvertOptions:
    types = dict.fromkeys(layout.names, pa.string())
    types |= {column.name: _ARROW_TYPES[column.kind] for column in schema.columns}
    # Text stays as it is, "NA" included: no category of that name is known, so it is missing.
    return pacsv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=False,
        column_types=types,
        decimal_point=decimal_mark_for(layout, schema),
    )


def decimal_mark_for(layout: Layout, schema: Schema) -> str:
    """Return the decimal mark of the file's columns that are numbers to a schema."""
    numbers = [column.name for column in schema.columns if column.kind == "number"]
    return decimals.decimal_mark(
        [layout.decimals[name] for name in numbers if name in layout.decimals]
    )


def _is_gzip(file: BinaryIO) -> bool:
    start = file.read(len(_GZIP))
    file.seek(0)
    return start == _GZIP


def _python_stream(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if _is_gzip(file) else file


def _arrow_file(path: Path) -> pa.NativeFile:
    # Arrow's own: its threads may outlive the reader, and must not hold a Python object then
    return pa.OSFile(os.fspath(path))


def _unpacked(file: pa.NativeFile, path: Path) -> pa.NativeFile:
    with path.open("rb") as start:
        return pa.CompressedInputStream(file, "gzip") if _is_gzip(start) else file


def _check_text(schema: pa.Schema, path: Path) -> None:
    for field in schema:
        if pt.is_binary(field.type):  # what Arrow makes of text that is not UTF-8
            raise _not_utf8(path, f" in column {field.name!r}")


def _warn_of_decimals(schema: pa.Schema, layout: Layout, path: Path) -> None:
    for field in schema:
        example = layout.decimals.get(field.name, "")
        if "," in example and pt.is_string(field.type):
            warnings.warn(
                f"column {field.name!r} in {path.name} is read as text, although most of it is "
                f"numbers such as {shortened(example)}; {decimals.WAY_OUT}",
                TableWarning,
                stacklevel=4,
            )


@contextmanager
def _explained(path: Path, layout: Layout | None) -> Iterator[None]:
    """Turn what the parser raises into one sentence that names the file."""
    try:
        yield
    except TableError:
        raise
    except OSError as error:
        if error.errno is not None:  # from the system: it names the file itself
            raise
        raise _damaged(path) from error
    except (EOFError, zlib.error) as error:
        raise _damaged(path) from error
    except (pa.ArrowException, UnicodeError, csv.Error, MemoryError) as error:
        raise _translated(str(error), path, layout) from error


def _translated(message: str, path: Path, layout: Layout | None) -> TableError:
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if ragged and layout:
        return _ragged(path, layout, int(ragged[1]), int(ragged[2]))
    wrong = re.search(r"column #(\d+).* error to (\S+): invalid value (.*)", message, re.DOTALL)
    if wrong and layout:
        (name,) = layout.names[int(wrong[1]) :][:1] or ["?"]
        return wrong_value(path, name, wrong[2], wrong[3].strip().strip("'"))
    if "UTF8" in message or "codec" in message:
        return _not_utf8(path, "")
    if "Empty CSV" in message:
        return _no_rows(path)
    if "straddling" in message:
        return TableError(
            f"{path.name} must have rows shorter than {_BLOCK:,} bytes; one is longer; "
            "look for a quotation mark that is not closed."
        )
    reason = shortened(message.partition("\n")[0], 120)
    return TableError(f"{path.name} cannot be read as a table ({reason}); check the file.")


def _ragged(path: Path, layout: Layout, expected: int, got: int) -> TableError:
    line = _first_ragged_line(path, layout)
    where = f"line {line}" if line else "a line"
    return TableError(
        f"{path.name} must have {expected} fields in every line, as in its header; {where} has "
        f"{got}; mend that line, or quote fields that hold {layout.delimiter!r}."
    )


def _first_ragged_line(path: Path, layout: Layout) -> int | None:
    """Return the number of the first line with too few or many fields; None if all agree."""
    # The parser works on many blocks at once and does not know its line; this is slow but does.
    try:
        with path.open("rb") as file:
            stream = _python_stream(file)
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
            lines = csv.reader(text, delimiter=layout.delimiter)
            for fields in lines:
                if fields and len(fields) != len(layout.names):
                    return lines.line_num
    except (OSError, EOFError, zlib.error, csv.Error):
        pass
    return None


def wrong_value(path: Path, name: str, arrow_type: str, value: str) -> TableError:
    """Return the error that says which value of a column is not of its type."""
    words = _TYPE_WORDS.get(arrow_type, "what its first rows hold")
    way_out = "mend that value or leave it empty."
    if words == "numbers" and decimals.looks_like_number(value):
        way_out = decimals.WAY_OUT
    return TableError(
        f"column {name!r} in {path.name} must hold {words}; got {shortened(value)}; {way_out}"
    )


def _not_utf8(path: Path, where: str) -> TableError:
    return TableError(f"{path.name} must be UTF-8; some text{where} is not; save it as UTF-8.")


def _no_rows(path: Path) -> TableError:
    return TableError(f"{path.name} must hold at least one row; it has a header but no rows.")


def _damaged(path: Path) -> TableError:
    return TableError(
        f"{path.name} must be a whole gzip file; it is cut short or damaged; write it again."
    )
