"""Tables at the door: readers, the schema of a table, its label and its times."""

from toprank.data.tables.coded_table import CodedTable
from toprank.data.tables.columns import TableError, TableWarning, check_columns
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.key_codes import key_codes
from toprank.data.tables.labels import Labels, fitted_label, split_label, truths
from toprank.data.tables.new_values import NewValues
from toprank.data.tables.read import (
    WrittenBatch,
    column_names,
    count_rows,
    read_batches,
    read_table,
    read_written,
    rows_as_written,
)
from toprank.data.tables.schema import MAX_CATEGORIES, Column, Schema
from toprank.data.tables.times import time_column, warn_of_odd_times, with_times
from toprank.data.tables.values import check_finite_columns, exact_numbers
from toprank.data.tables.write import write_rows

__all__ = [
    "MAX_CATEGORIES",
    "CodedTable",
    "Column",
    "Labels",
    "NewValues",
    "Reading",
    "Schema",
    "TableError",
    "TableWarning",
    "WrittenBatch",
    "check_columns",
    "check_finite_columns",
    "column_names",
    "count_rows",
    "exact_numbers",
    "fitted_label",
    "key_codes",
    "read_batches",
    "read_table",
    "read_written",
    "rows_as_written",
    "split_label",
    "time_column",
    "truths",
    "warn_of_odd_times",
    "with_times",
    "write_rows",
]
