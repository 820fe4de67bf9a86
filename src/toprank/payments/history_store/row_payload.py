"""Tables and single rows as a log keeps them: exact, so that a replay is the same bit for bit.

A payload is: kind, 1 byte | bytes of the facts, 4 | facts, JSON | Arrow stream, of a table only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from toprank.data.tables.columns import shortened

TABLE, ROW, LABELS, PURGE, ARCHIVED, DROPPED = b"T", b"R", b"L", b"P", b"A", b"D"
FINISHED = b"F"  # the tables before it, which are parts of one change, now count

_PLAIN = frozenset({str, int, float, bool, type(None)})
# A value that JSON cannot express is a pair: its type, and its text or number.
_READ: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "us": lambda number: np.datetime64(number, "us"),
    "decimal": Decimal,
}


class Payload(NamedTuple):
    """One payload, read: `facts` is JSON, `body` the bytes after it."""

    kind: bytes
    facts: Any
    body: memoryview


def packed(kind: bytes, facts: Any) -> bytes:
    """Return the start of a payload; what follows is the body.

    >>> read_payload(memoryview(packed(LABELS, {"position": 7}))).facts
    {'position': 7}
    """
    raw = json.dumps(facts, separators=(",", ":")).encode()
    return kind + len(raw).to_bytes(4, "little") + raw


def read_payload(payload: memoryview) -> Payload:
    """Return the parts of a payload."""
    stop = 5 + int.from_bytes(payload[1:5], "little")
    return Payload(bytes(payload[:1]), json.loads(bytes(payload[5:stop])), payload[stop:])


def table_bytes(table: pa.Table) -> pa.Buffer:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    table = table.unify_dictionaries().combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def table_of(raw: Any) -> pa.Table:
    """Return the table in an Arrow stream; its columns share the memory of the bytes."""
    with pa.ipc.open_stream(pa.py_buffer(raw)) as stream:
        return stream.read_all()


def row_facts(row: Mapping[str, Any]) -> list[list[Any]]:
    """Return a row as JSON: names and values.

    >>> row_of(row_facts({"at": datetime(2025, 3, 1), "card": "A", "amount": 0.1}))
    {'at': datetime.datetime(2025, 3, 1, 0, 0), 'card': 'A', 'amount': 0.1}
    """
    values = [
        value if type(value) in _PLAIN else _as_json(value, name) for name, value in row.items()
    ]
    return [[str(name) for name in row], values]


def row_of(facts: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the row that `row_facts` gave."""
    names, values = facts
    restored = (_READ[each[0]](each[1]) if type(each) is list else each for each in values)
    return dict(zip(names, restored, strict=True))


def _as_json(value: Any, name: str) -> Any:
    """Return a value that JSON cannot express as one that it can."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.datetime64):
        number = value.astype("datetime64[us]")
        return None if np.isnat(number) else ["us", int(number.view(np.int64))]
    for kind, found in (("datetime", datetime), ("date", date), ("time", time)):
        if isinstance(value, found):
            return [kind, value.isoformat()]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    return _number_or_text(value, name)


def _number_or_text(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    for kind in (bool, str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(
        f"{name} must be a number, text, true or false, a time, or missing, to be remembered; "
        f"got {shortened(value)}."
    )
