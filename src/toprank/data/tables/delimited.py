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
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.types as pt

from toprank.data.tables import decimals
from toprank.data.tables.columns import (
    TableError,
    TableWarning,
    check_columns,
    plain_names,
    shortened,
)
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.number_formats import (
    MISSING,
    NumberReading,
    allowed_formats,
    may_be_ambiguous,
    reading_of,
)
from toprank.data.tables.schema import Schema
from toprank.data.tables.typed_columns import TypedColumns, read_columns
from toprank.data.tables.written_codes import may_be_codes, with_codes

_DELIMITERS = ",;\t|"
_HEAD = 1 << 20  # bytes in which the header must end
_BLOCK = 4 << 20  # bytes parsed at a time; a row must fit
_SAMPLE_ROWS = 300  # whose cells show how numbers are written
_FEW_CELLS = 50
_GZIP = b"\x1f\x8b"
_OTHER_FILES = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet in Excel's old format, .xls",
    b"SQLite format 3": "an SQLite database",
}
_ARROW_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "category": pa.string()}
_TYPE_WORDS = {"double": "numbers", "int64": "whole numbers", "bool": "true or false"}


class Layout(NamedTuple):
    """How a delimited file is laid out, as its header line and the rows after it show.

    `names` are those of the header without spaces around them, `header` those in the file itself.
    `samples` holds some cells of each column, and `decimals` a number from each column that has
    decimals, where their separator may be a comma.
    """

    delimiter: str
    names: list[str]
    header: list[str]
    samples: dict[str, list[str]]
    decimals: dict[str, str]
    encoding: str

    def separator(self, reading: Reading, numbers: Iterable[str] | None = None) -> str:
        """Return the decimal separator of the file, or of these of its columns."""
        (form, *_) = allowed_formats(reading.decimal, reading.thousands)
        if reading.decimal or reading.thousands:
            return form.decimal
        names = self.decimals if numbers is None else numbers
        return decimals.decimal_separator(
            [self.decimals[each] for each in names if each in self.decimals]
        )

    def renamed(self, rows: Any) -> Any:
        """Return a table or batch with the names of its columns, not those in the file."""
        if self.names == self.header:
            return rows
        name_of = dict(zip(self.header, self.names, strict=True))
        return rows.rename_columns([name_of[each] for each in rows.schema.names])

    def in_file(self, names: Iterable[str]) -> list[str]:
        """Return how columns are called in the file."""
        header_of = dict(zip(self.names, self.header, strict=True))
        return [header_of[each] for each in names]


def read(
    path: Path,
    columns: Sequence[str] | None,
    as_text: Sequence[str] = (),
    required: Sequence[str] = (),
    reading: Reading | None = None,
    as_they_are: Sequence[str] = (),
) -> pa.Table:
    """Return all rows of a delimited file, types inferred from all of them."""
    reading = reading or Reading()
    layout = layout_of(path, reading)
    check_columns([*required, *(columns or []), *as_text], layout.names, path.name)
    if reading.time_format:
        as_text = [*as_text, *(name for name in reading.times if name in layout.names)]
    separator = layout.separator(reading)
    table = _parsed(path, layout, _inferred_types(layout, separator, columns, as_text))
    _check_text(table.schema, path)
    if not table.num_rows:
        raise _no_rows(path)
    left_alone = {*as_they_are, *as_text}
    others = [each for each in table.column_names if each not in {*left_alone, *reading.times}]
    codes = [name for name in others if may_be_codes(table[name])]
    if codes:
        table = with_codes(table, _parsed(path, layout, _as_text(layout, codes)))
    for name, cells in layout.samples.items():
        if name not in left_alone and name in table.column_names:
            _warn_if_ambiguous(name, cells, table.schema.field(name).type, reading, separator)
    return read_columns(
        table,
        reading,
        lambda row: line_of_row(path, layout, row),
        as_they_are=left_alone,
        default_decimal=separator,
    )


def batches(
    path: Path,
    schema: Schema | None,
    on_bytes: Callable[[int], None] | None,
    reading: Reading | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return the rows block by block; see `read_batches` for what `schema` fixes."""
    reading = reading or Reading()
    layout = layout_of(path, reading)
    check_columns(schema.names if schema else [], layout.names, path.name)
    if schema is None and not reading.times:
        types = _inferred_types(layout, layout.separator(reading))
        return _parsed_blocks(path, layout, types, on_bytes)
    return _typed_blocks(path, layout, schema, on_bytes, reading)


def _typed_blocks(
    path: Path,
    layout: Layout,
    schema: Schema | None,
    on_bytes: Callable[[int], None] | None,
    reading: Reading,
) -> Iterator[pa.RecordBatch]:
    """Yield rows in the types of a schema: as Arrow reads them, and as people do if it cannot."""
    typing = typed_columns(path, layout, schema, reading)
    n_done = 0
    separator = typing.arrow_decimal
    if separator is not None:
        types = _fixed_types(layout, schema, separator)
        try:
            for batch in _parsed_blocks(path, layout, types, on_bytes, is_explained=False):
                yield from typing.typed(pa.Table.from_batches([batch])).to_batches()
                n_done += batch.num_rows
            typing.end()
            return
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise _translated(str(error), path, layout) from error
    for text in text_batches(path, layout, schema, on_bytes):
        n_known = min(n_done, text.num_rows)  # rows that were given out before
        n_done -= n_known
        if n_known < text.num_rows:
            rows = pa.Table.from_batches([text.slice(n_known)])
            yield from typing.typed(rows).to_batches()
    typing.end()


def typed_columns(
    path: Path, layout: Layout, schema: Schema | None, reading: Reading
) -> TypedColumns:
    """Return what reads the columns of a schema from the text of a file."""
    numbers = (
        [column.name for column in schema.columns if column.kind == "number"] if schema else []
    )
    return TypedColumns(
        schema,
        reading,
        path.name,
        lambda row: line_of_row(path, layout, row),
        layout.separator(reading, numbers),
        layout.samples,
    )


def text_batches(
    path: Path,
    layout: Layout,
    schema: Schema | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return the rows block by block with every field as the text it is in the file."""
    check_columns(schema.names if schema else [], layout.names, path.name)
    return _parsed_blocks(path, layout, _as_text(layout, layout.names), on_bytes)


def layout_of(path: Path, reading: Reading | None = None) -> Layout:
    """Return delimiter, column names and decimals; raise when the start is not a table's."""
    reading = reading or Reading()
    with _explained(path, None), path.open("rb") as file:
        head = _python_stream(file).read(_HEAD)
    text = _decoded(head, path, reading.encoding).lstrip("\r\n")
    if not text:
        raise TableError(f"{path.name} must hold a table; it is empty.")
    line, *rest = re.split(r"[\r\n]", text, maxsplit=1)
    if not rest and len(head) == _HEAD:
        raise TableError(
            f"{path.name} must be a table; its first line does not end within {_HEAD:,} bytes; "
            "check that it is one."
        )
    delimiter = _delimiter_of(line)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with _explained(path, None):
        header = next(rows)
    names = plain_names(header, path.name)
    encoding = reading.encoding or "utf-8"
    if delimiter == "," or "," not in text:
        samples = _fields_by_column(islice(rows, _SAMPLE_ROWS), names)
        return Layout(delimiter, names, header, samples, {}, encoding)
    samples = _fields_by_column(rows, names)
    separators = decimals.decimal_examples(samples)
    samples = {name: cells[:_SAMPLE_ROWS] for name, cells in samples.items()}
    return Layout(delimiter, names, header, samples, separators, encoding)


def line_of_row(path: Path, layout: Layout, row: int) -> str:
    """Return in which line of its file a row, counted from 0, begins, in words."""
    # The parser works on many blocks at once and does not know its line; this is slow but does.
    line, n_rows = 1, -1  # the header is none
    with suppress(OSError, EOFError, zlib.error, csv.Error):
        for fields, last_line in _fields_with_lines(path, layout):
            n_rows += bool(fields)
            if n_rows == row + 1 and fields:
                return f"line {line:,}"
            line = last_line + 1
    return f"row {row + 1:,}"


def _decoded(head: bytes, path: Path, encoding: str | None) -> str:
    for start, what in _OTHER_FILES.items():
        if head.startswith(start):
            raise TableError(f"{path.name} must be a table; it is {what}; save the table as CSV.")
    if encoding is None:
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise TableError(
                f"{path.name} must be UTF-8; it is UTF-16; save it as UTF-8 or read it with "
                "`encoding='utf-16'`."
            )
        if b"\0" in head:
            raise TableError(
                f"{path.name} must be a table; it holds binary data; save the table as CSV in "
                "UTF-8."
            )
    try:  # the incremental decoder forgives a character that the end of `head` cuts
        return codecs.getincrementaldecoder(encoding or "utf-8-sig")().decode(head)
    except UnicodeError as error:
        first = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = head.count(b"\n", 0, first) + 1
        if encoding is not None:
            raise TableError(
                f"{path.name} must be {encoding}, as `encoding` says; byte 0x{head[first]:02x} in "
                f"line {line} is not; name another encoding."
            ) from error
        raise TableError(
            f"{path.name} must be UTF-8; byte 0x{head[first]:02x} in line {line} is not; save it "
            "as UTF-8, or read it with `encoding='cp1252'` or `encoding='latin-1'`."
        ) from error


def _delimiter_of(header: str) -> str:
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=unquoted.count)  # the first of equals, so a comma when none


def _fields_by_column(rows: Iterable[list[str]], names: Sequence[str]) -> dict[str, list[str]]:
    whole: list[list[str]] = []
    with suppress(csv.Error):  # what is wrong with a row is reported when all of them are read
        whole.extend(row for row in rows if len(row) == len(names))
    return {
        name: [field for field in fields if field not in MISSING]
        for name, fields in zip(names, zip(*whole, strict=True), strict=False)
    }


def _read_options(layout: Layout) -> pacsv.ReadOptions:
    return pacsv.ReadOptions(block_size=_BLOCK, encoding=layout.encoding)


def _parse_options(layout: Layout) -> pacsv.ParseOptions:
    return pacsv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)


def _parsed(path: Path, layout: Layout, types: pacsv.ConvertOptions) -> pa.Table:
    """Return all rows at once."""
    with _explained(path, layout), _arrow_file(path) as file:
        table = pacsv.read_csv(
            _unpacked(file, path),
            read_options=_read_options(layout),
            parse_options=_parse_options(layout),
            convert_options=types,
        )
    return layout.renamed(table)


def _parsed_blocks(
    path: Path,
    layout: Layout,
    types: pacsv.ConvertOptions,
    on_bytes: Callable[[int], None] | None,
    is_explained: bool = True,
) -> Iterator[pa.RecordBatch]:
    n_rows = 0
    with (
        _explained(path, layout, is_explained),
        _arrow_file(path) as file,
        pacsv.open_csv(
            _unpacked(file, path),
            read_options=_read_options(layout),
            parse_options=_parse_options(layout),
            convert_options=types,
        ) as reader,
    ):
        _check_text(reader.schema, path)
        for n_blocks, batch in enumerate(reader, 1):
            n_rows += batch.num_rows
            if on_bytes:  # the file is read far ahead of the blocks that were given out
                on_bytes(min(n_blocks * _BLOCK, file.tell()))
            yield layout.renamed(batch)
    if not n_rows:
        raise _no_rows(path)


def _inferred_types(
    layout: Layout,
    separator: str,
    columns: Sequence[str] | None = None,
    as_text: Sequence[str] = (),
) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=dict.fromkeys(layout.in_file(as_text), pa.string()),
        null_values=MISSING,
        strings_can_be_null=True,
        include_columns=None if columns is None else layout.in_file(columns),
        decimal_point=separator,
    )


def _as_text(layout: Layout, names: Sequence[str]) -> pacsv.ConvertOptions:
    """Return options that leave every field of these columns as it is in the file."""
    headers = layout.in_file(names)
    return pacsv.ConvertOptions(
        strings_can_be_null=False,
        column_types=dict.fromkeys(headers, pa.string()),
        include_columns=headers,
    )


def _fixed_types(layout: Layout, schema: Schema | None, separator: str) -> pacsv.ConvertOptions:
    kinds = {column.name: column.kind for column in schema.columns} if schema else {}
    types = {
        header: _ARROW_TYPES.get(kinds.get(name, ""), pa.string())
        for header, name in zip(layout.header, layout.names, strict=True)
    }
    # Text stays as it is, "NA" included: if no category of that name is known, it is missing.
    return pacsv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=False,
        column_types=types,
        decimal_point=separator,
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


def _warn_if_ambiguous(
    name: str, cells: list[str], arrow_type: pa.DataType, reading: Reading, separator: str
) -> None:
    """Say what was assumed of numbers such as 1.234, which Arrow has read already."""
    is_said = reading.decimal is not None or reading.thousands is not None
    if is_said or not pt.is_floating(arrow_type) or not may_be_ambiguous(cells[:_FEW_CELLS]):
        return
    found = reading_of(dict.fromkeys(cells, 1), default=separator)
    if isinstance(found, NumberReading) and found.other is not None:
        example = max(cells, key=len)
        warnings.warn(
            f"column {name!r} holds numbers such as {shortened(example)}, taken to have a decimal "
            f"{'point' if separator == '.' else 'comma'}; use `thousands={separator!r}` if it "
            "separates thousands.",
            TableWarning,
            stacklevel=4,
        )


@contextmanager
def _explained(
    path: Path, layout: Layout | None, is_conversion_explained: bool = True
) -> Iterator[None]:
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
    except MemoryError as error:
        raise MemoryError(f"{path.name} does not fit into it.") from error
    except (pa.ArrowException, UnicodeError, csv.Error) as error:
        if not is_conversion_explained and "conversion error" in str(error):
            raise
        raise _translated(str(error), path, layout) from error


def _translated(message: str, path: Path, layout: Layout | None) -> TableError:
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if ragged and layout:
        return _ragged(path, layout, int(ragged[1]), int(ragged[2]))
    wrong = re.search(r"column #(\d+).* error to (\S+): invalid value (.*)", message, re.DOTALL)
    if wrong and layout:
        (name,) = layout.names[int(wrong[1]) :][:1] or ["?"]
        return _wrong_value(path, name, wrong[2], wrong[3].strip().strip("'"))
    if "UTF8" in message or "codec" in message:
        return _not_utf8(path, "")
    if "Empty CSV" in message:
        return _no_rows(path)
    if "straddling" in message:
        return TableError(
            f"{path.name} must have rows shorter than {_BLOCK:,} bytes; one is longer; "
            "look for a quote that is not closed."
        )
    reason = shortened(message.partition("\n")[0], 120)
    return TableError(f"{path.name} cannot be read as a table ({reason}); check the file.")


def _ragged(path: Path, layout: Layout, expected: int, got: int) -> TableError:
    line = _first_ragged_line(path, layout)
    where = f"line {line}" if line else "a line"
    return TableError(
        f"{path.name} must have {expected} fields in every line, as in its header; {where} has "
        f"{got}; correct that line, or quote fields that hold {layout.delimiter!r}."
    )


def _first_ragged_line(path: Path, layout: Layout) -> int | None:
    """Return the number of the first line with too few or many fields; None if all agree."""
    with suppress(OSError, EOFError, zlib.error, csv.Error):
        for fields, line in _fields_with_lines(path, layout):
            if fields and len(fields) != len(layout.names):
                return line
    return None


def _fields_with_lines(path: Path, layout: Layout) -> Iterator[tuple[list[str], int]]:
    """Yield the fields of each row, the header's first, and the number of its last line."""
    encoding = "utf-8-sig" if layout.encoding == "utf-8" else layout.encoding
    with path.open("rb") as file:
        stream = _python_stream(file)
        text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")
        rows = csv.reader(text, delimiter=layout.delimiter)
        for fields in rows:
            yield fields, rows.line_num


def _wrong_value(path: Path, name: str, arrow_type: str, value: str) -> TableError:
    """Return the error that says which value of a column is not of its type."""
    words = _TYPE_WORDS.get(arrow_type, "what its first rows hold")
    return TableError(
        f"column {name!r} in {path.name} must hold {words}; got {shortened(value)}; correct that "
        "value or leave it empty."
    )


def _not_utf8(path: Path, where: str) -> TableError:
    return TableError(
        f"{path.name} must be UTF-8; some text{where} is not; save it as UTF-8, or read it with "
        "`encoding='cp1252'` or `encoding='latin-1'`."
    )


def _no_rows(path: Path) -> TableError:
    return TableError(f"{path.name} must hold at least one row; it has a header but no rows.")


def _damaged(path: Path) -> TableError:
    return TableError(
        f"{path.name} must be a whole gzip file; it is cut short or damaged; write it again."
    )
