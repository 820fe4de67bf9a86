"""Tables as CSV that a spreadsheet opens without running anything in them."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.responses import Response

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV; a text that begins as a formula does gets a quote before it.

    >>> csv_text(["shop", "amount"], [["=1+1", -2.5]])
    'shop,amount\\r\\n\\'=1+1,-2.5\\r\\n'
    """
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow([cell(each) for each in header])
    writer.writerows([cell(each) for each in row] for row in rows)
    return written.getvalue()


def cell(value: Any) -> Any:
    """Return a value as it is written: numbers as they are, texts so that they stay texts."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """Return a table as a file to save; `name` is plain letters, digits and hyphens."""
    assert name.replace("-", "").isalnum() and name.isascii(), name
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(csv_text(header, rows), headers=headers, media_type="text/csv; charset=utf-8")
