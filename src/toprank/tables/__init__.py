"""Tables at the door: readers, the schema of a table, its label and its times."""

from toprank.tables.coded_table import CodedTable
from toprank.tables.columns import TableError, TableWarning, check_columns
from toprank.tables.keys import key_codes
from toprank.tables.labels import Labels, split_label, truths
from toprank.tables.read import (
    WrittenBatch,
    column_names,
    count_rows,
    read_batches,
    read_table,
    read_written,
    rows_as_written,
)
from toprank.tables.schema import MAX_CATEGORIES, Column, Schema
from toprank.tables.times import time_column, with_times
from toprank.tables.values import check_finite_columns, exact_numbers
from toprank.tables.write import write_rows

__all__ = [
    "MAX_CATEGORIES",
    "CodedTable",
    "Column",
    "Labels",
    "Schema",
    "TableError",
    "TableWarning",
    "WrittenBatch",
    "check_columns",
    "check_finite_columns",
    "column_names",
    "count_rows",
    "exact_numbers",
    "key_codes",
    "read_batches",
    "read_table",
    "read_written",
    "rows_as_written",
    "split_label",
    "time_column",
    "truths",
    "with_times",
    "write_rows",
]
