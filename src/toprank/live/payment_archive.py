"""Payments of a desk in Parquet files, with the features and scores they had: for backtests.

    archive/before.parquet                   what the model's own history had, before the desk
    archive/payments-FIRST-LAST.parquet      payments of the log, by position

Columns are the payment's own fields, the features by name, and what the desk adds: `position`,
`id`, `card`, `terminal`, `paid_at`, `decision`, `suspicion` and `probability`. Labels are not in
the files: those that hold now are joined when payments are read.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from toprank.data.atomic import atomic_path
from toprank.data.tables import time_column
from toprank.data.tables.ids import id_texts
from toprank.live.messages import PaymentField
from toprank.live.store import label_table, payment_log
from toprank.live.store.payment_log import LoggedPayment, StoredScore
from toprank.payments.payment_model import PaymentModel

OWN = (
    "position", "id", "card", "terminal", "paid_at", "received_at", "decision", "suspicion",
    "probability", "is_fraud",
)  # fmt: skip
"""The columns that a desk adds: a payment's field of such a name must mean the same."""

_BEFORE = "before.parquet"
_NAME = re.compile(r"payments-(\d+)-(\d+)\.parquet")
_ROWS = 100_000  # per file
_TYPES = {
    "number": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "time": pa.timestamp("us"),
}


class PaymentArchive:
    """The Parquet files of a desk.

    Parameters
    ----------
    folder
        The folder of the files.
    fields
        The fields of payments.
    features
        The names of the features, in the order of the log.
    """

    def __init__(self, folder: Path, fields: list[PaymentField], features: list[str]) -> None:
        self.folder, self._fields, self._features = folder, fields, features

    def files(self) -> list[Path]:
        """Return the files, those of the earliest payments first."""
        return sorted(self.folder.glob("*.parquet"))

    @property
    def last_position(self) -> int:
        """The position of the newest payment in the archive, 0 without one."""
        found = (_NAME.fullmatch(each.name) for each in self.files())
        return max((int(each[2]) for each in found if each), default=0)

    def add_from(self, connection: sa.Connection, *, is_complete: bool = False) -> int:
        """Add the scored payments of the log that are not here yet; return how many.

        Only whole files are written, unless `is_complete`.
        """
        start, n_added = self.last_position, 0
        for rows in _chunks(connection, start):
            if len(rows) == _ROWS or is_complete:
                self._write(rows)
                n_added += len(rows)
        return n_added

    def add_before(self, model: PaymentModel) -> None:
        """Add the payments that a model's own history has, with their labels."""
        from toprank.payments.new_version import matured_rows  # which imports what training needs

        rows = matured_rows(model).table
        times = time_column(rows, str(model.time))
        columns = {name: rows[name] for name in rows.column_names if name != model.label_column}
        is_fraud = np.array(rows[model.label_column].to_pylist()) == model.classes_[0]
        columns |= {
            "id": id_texts(rows[model.row_id], str(model.row_id)),
            "card": id_texts(rows[model.card], str(model.card)),
            "terminal": id_texts(rows[model.terminal], str(model.terminal)),
            "paid_at": pa.array(times),
            "is_fraud": pa.array(is_fraud),
        }
        _write(pa.table(columns), self.folder / _BEFORE)

    def scan(self, connection: sa.Connection) -> pl.LazyFrame:
        """Return all payments with the labels that hold now: the archive and the log after it."""
        held = label_table.holding(label_table.after(connection, 0))
        known = pl.LazyFrame(
            {"id": list(held), "label": [each.is_fraud for each in held.values()]},
            schema={"id": pl.Utf8, "label": pl.Boolean},
        )
        return (
            self.stored(connection)
            .join(known, on="id", how="left")
            .with_columns(is_fraud=pl.coalesce("label", "is_fraud"))
            .drop("label")
        )

    def stored(self, connection: sa.Connection) -> pl.LazyFrame:
        """Return all payments; `is_fraud` is what payments from before the desk came with."""
        parts = [pl.scan_parquet(each) for each in self.files()]
        rest = [row for rows in _chunks(connection, self.last_position) for row in rows]
        if rest:
            parts.append(pl.from_arrow(self._table(rest)).lazy())
        if not parts:
            raise ValueError("the desk has no payments yet.")
        whole = pl.concat(parts, how="diagonal_relaxed")
        if "is_fraud" not in whole.collect_schema():
            whole = whole.with_columns(is_fraud=pl.lit(None, pl.Boolean))
        return whole

    def before_of_card(self, card: str, since: int) -> list[dict[str, Any]]:
        """Return a card's payments of before the desk, from a moment in microseconds on.

        Each has `id`, `terminal`, `paid_at` in microseconds, and the fields of payments.
        """
        path = self.folder / _BEFORE
        if not path.is_file():
            return []
        whole = pl.scan_parquet(path)
        names = set(whole.collect_schema().names())
        wanted = {each.name for each in self._fields if each.kind != "time"} & names
        return (
            whole.filter(pl.col("card") == card, pl.col("paid_at") >= np.datetime64(since, "us"))
            .with_columns(paid_at=pl.col("paid_at").dt.epoch("us"))
            .select({"id", "terminal", "paid_at"} | wanted)
            .collect()
            .to_dicts()
        )

    def before(self) -> Iterator[dict[str, Any]]:
        """Yield the payments of before the desk by name, with `is_fraud`, in order of time."""
        path = self.folder / _BEFORE
        if path.is_file():
            yield from pl.read_parquet(path).sort("paid_at", "id").iter_rows(named=True)

    def drop_before(self, moment: int) -> int:
        """Remove payments from before a moment, in microseconds; return how many."""
        limit, n_dropped = np.datetime64(moment, "us"), 0
        for path in self.files():
            table = pq.read_table(path)
            is_kept = table["paid_at"].to_numpy() >= limit
            if is_kept.all():
                continue
            n_dropped += int(np.count_nonzero(~is_kept))
            if is_kept.any() or path.name != _BEFORE:
                # the name tells which positions need not be archived again: it stays
                _write(table.filter(pa.array(is_kept)), path)
            else:
                path.unlink()
        return n_dropped

    def _write(self, rows: list[tuple[LoggedPayment, StoredScore]]) -> None:
        first, last = rows[0][0].position, rows[-1][0].position
        _write(self._table(rows), self.folder / f"payments-{first:012}-{last:012}.parquet")

    def _table(self, rows: list[tuple[LoggedPayment, StoredScore]]) -> pa.Table:
        bodies = [json.loads(row.body) for row, _ in rows]
        features = np.stack([row.feature_values for row, _ in rows]).T
        columns = {
            each.name: pa.array([body.get(each.name) for body in bodies], _TYPES[each.kind])
            for each in self._fields
            if each.kind != "text"
        }
        columns |= {
            each.name: pa.array([_text(body.get(each.name)) for body in bodies])
            for each in self._fields
            if each.kind == "text"
        }
        for name, values in zip(self._features, features, strict=True):
            columns.setdefault(name, pa.array(values, from_pandas=True))
        logged = list(zip(*((r.position, r.id, r.card, r.terminal, r.paid_at, r.received_at,
                             r.decision) for r, _ in rows), strict=True))  # fmt: skip
        own = dict(zip(OWN[:7], map(pa.array, logged), strict=True))
        own["paid_at"] = own["paid_at"].cast(pa.timestamp("us"))
        own["received_at"] = own["received_at"].cast(pa.timestamp("us"))
        own["suspicion"] = pa.array([score.suspicion for _, score in rows])
        own["probability"] = pa.array([score.probability for _, score in rows])
        return pa.table(columns | own)


def check_names(fields: list[PaymentField], features: list[str]) -> None:
    """Raise if a field or feature has the name of a column that a desk adds."""
    for each in fields:
        if each.name in OWN and each.role not in _ROLES.get(each.name, ()):
            raise _taken(each.name)
    for name in features:
        if name in OWN:
            raise _taken(name)


_ROLES = {"id": ("id",), "card": ("card",), "terminal": ("terminal",), "paid_at": ("time",)}


def _taken(name: str) -> ValueError:
    return ValueError(
        f"a column of payments must not be called {name!r}: a desk has a column of this name; "
        "rename it and fit again."
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _write(table: pa.Table, path: Path) -> None:
    with atomic_path(path, mode=0o600) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def _chunks(
    connection: sa.Connection, position: int
) -> Iterator[list[tuple[LoggedPayment, StoredScore]]]:
    """Yield the scored payments after a position, in groups that make a file each."""
    rows: list[tuple[LoggedPayment, StoredScore]] = []
    for pair in payment_log.scored_after(connection, position):
        rows.append(pair)
        if len(rows) == _ROWS:
            yield rows
            rows = []
    if rows:
        yield rows
