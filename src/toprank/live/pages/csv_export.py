"""Tables as CSV that a spreadsheet opens without running anything in them."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.responses import Response

from toprank.data.tables.spreadsheet import harmless


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV; a text that begins as a formula does gets an apostrophe before it.

    >>> csv_text(["shop", "amount"], [["=1+1", -2.5]]).splitlines()
    ['shop,amount', "'=1+1,-2.5"]
    """
    written = io.StringIO()
    writer = csv.writer(written)
    for row in (header, *rows):
        writer.writerow([harmless(each) if isinstance(each, str) else each for each in row])
    return written.getvalue()


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """Return a table as a file to save; `name` is plain letters, digits and hyphens."""
    assert name.replace("-", "").isalnum() and name.isascii(), name
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(csv_text(header, rows), headers=headers, media_type="text/csv; charset=utf-8")
