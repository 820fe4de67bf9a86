"""Text that a spreadsheet would run as a formula, made harmless in CSV and read back unchanged.

A payer chooses the text of a payment and an investigator opens the list in a spreadsheet, so a
cell that begins with = + - @, a tab or a carriage return gets an apostrophe in front. Numbers,
such as -12.50, stay as they are.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from toprank.data.tables.values import decoded, is_text

_IS_FORMULA = r"^'*[=+\-@\t\r]"  # with apostrophes, too: what is read back must be what was there
_IS_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before every text cell and name that is a formula.

    >>> without_formulas(pa.table({"shop": ["=A1", "-12.50", "Bakery"]})).to_pydict()
    {'shop': ["'=A1", '-12.50', 'Bakery']}
    """
    columns = [_harmless(decoded(column)) for column in table.columns]
    names = _harmless(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    return pa.table(columns, names=names)


def harmless(text: str) -> str:
    """Return one text as `without_formulas` has it.

    >>> harmless("@SUM(A1)"), harmless("-12.50")
    ("'@SUM(A1)", '-12.50')
    """
    is_escaped = re.match(_IS_FORMULA, text) and not re.match(_IS_NUMBER, text)
    return f"'{text}" if is_escaped else text


def as_it_was(text: str) -> str:
    """Return a text as it was before `without_formulas`.

    >>> as_it_was("'=A1"), as_it_was("'tis")
    ('=A1', "'tis")
    """
    return text[1:] if _ESCAPED.match(text) else text


def with_formulas(table: pa.Table) -> pa.Table:
    """Return a table that was read from CSV with its texts and names as they were."""
    columns = [
        pa.chunked_array([_restored(chunk) for chunk in decoded(column).chunks], column.type)
        if is_text(decoded(column).type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[as_it_was(name) for name in table.column_names])


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not is_text(column.type):
        return column
    is_formula = pc.match_substring_regex(column, _IS_FORMULA)
    if not pc.any(is_formula).as_py():
        return column
    is_number = pc.match_substring_regex(column, _IS_NUMBER)
    is_escaped = pc.and_not(is_formula, is_number)
    apostrophe, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
    return pc.if_else(is_escaped, pc.binary_join_element_wise(apostrophe, column, nothing), column)


def _restored(texts: pa.Array) -> pa.Array:
    restored = [None if text is None else as_it_was(text) for text in texts.to_pylist()]
    return pa.array(restored, texts.type)
