"""Verdicts as people write them: in the list that `rank` wrote, or in a table of claims.

A verdict is fraud, genuine or unsure, or one of the labels that the model learned from. Rows
without a verdict, and those that are unsure, are ignored.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank.data import tables
from toprank.data.tables.columns import TableError, shortened
from toprank.data.tables.spreadsheet import as_it_was
from toprank.payments.ledger import Ledger
from toprank.payments.ledger.holding import LAST_KNOWN

VERDICT = "verdict"
_FRAUD = ("fraud", "fraudulent", "positive", "yes", "y", "true", "1")
_GENUINE = ("genuine", "ok", "legitimate", "negative", "no", "n", "false", "0")
_UNSURE = ("unsure", "?")


class Verdicts(NamedTuple):
    """The verdicts of a table: which rows are positive, and the source of the labels."""

    ids: list[Any]
    is_positive: NDArray[np.bool_]
    rows: NDArray[np.int64]  # of the table, for its other columns
    source: str
    n_empty: int
    n_unsure: int


class OverrulingLabel(NamedTuple):
    """A label that holds although another one came later."""

    row_id: str
    is_positive: bool
    source: str
    known: np.datetime64


def verdicts_in(table: pa.Table, row_id: str, label: str, classes: tuple[Any, Any]) -> Verdicts:
    """Return the verdicts of a table: of its column `verdict`, else of its column of labels.

    `classes` are the two values of the labels, the positive first. Verdicts are an
    investigator's; labels are claims.

    >>> table = pa.table({"tx": ["a", "b", "c"], "verdict": ["fraud", "", "unsure"]})
    >>> found = verdicts_in(table, "tx", "is_fraud", classes=(1, 0))
    >>> found.ids, found.is_positive.tolist(), found.source, found.n_empty, found.n_unsure
    (['a'], [True], 'investigator', 1, 1)
    """
    column = VERDICT if VERDICT in table.column_names else label
    tables.check_columns([row_id, column], table.column_names)
    if column == VERDICT:
        said = [_verdict(value, classes) for value in table[VERDICT].to_pylist()]
        source = "investigator"
    else:
        said = tables.truths(table, label, *classes).to_pylist()
        source = "claim"
    rows = np.flatnonzero([isinstance(each, bool) for each in said])
    ids = table[row_id].take(pa.array(rows)).to_pylist()
    return Verdicts(
        [as_it_was(each) if isinstance(each, str) else each for each in ids],
        np.array([said[row] for row in rows.tolist()], dtype=bool),
        rows,
        source,
        n_empty=sum(each is None for each in said),
        n_unsure=sum(each == "unsure" for each in said),
    )


def check_one_each(ids: ArrayLike, is_positive: ArrayLike, known_at: Any) -> None:
    """Raise unless each id has one label, and one time at which it became known or that of all."""
    n_ids, n_labels = np.size(ids), np.size(is_positive)
    if n_ids != n_labels:
        raise ValueError(f"each id must have one label; got {n_ids} ids and {n_labels} labels.")
    if np.ndim(known_at) and np.size(known_at) != n_ids:
        raise ValueError(
            f"known_at must be one moment, or one for each of the {n_ids} ids; got "
            f"{np.size(known_at)}."
        )


def overruling_label(
    ledger: Ledger, ids: Sequence[Any], is_positive: ArrayLike
) -> OverrulingLabel | None:
    """Return the first label that holds to the contrary of one that was given; None if none does.

    Of several labels of one id, the last counts as given.

    >>> from toprank.payments.ledger import MemoryLedger
    >>> ledger = MemoryLedger()
    >>> for known, is_fraud in (("2025-01-09", False), ("2025-01-05", True)):
    ...     _ = ledger.append("a", is_fraud, known=known, source="claim")
    >>> overruling_label(ledger, ["a"], [True]).is_positive
    False
    """
    given = dict(zip(map(str, ids), np.asarray(is_positive).tolist(), strict=True))
    held = ledger.as_known(LAST_KNOWN, list(given))
    other = np.flatnonzero(held.has_label & (held.is_positive != list(given.values())))
    if not other.size:
        return None
    row = other[0]
    return OverrulingLabel(
        list(given)[row], bool(held.is_positive[row]), str(held.source[row]), held.known[row]
    )


def _verdict(value: Any, classes: tuple[Any, Any]) -> bool | str | None:
    """Return whether a verdict is fraud; "unsure", or None where there is none."""
    text = "" if value is None or value != value else str(value).strip().lower()
    positive, negative = (str(each).strip().lower() for each in classes)
    if not text:
        return None
    if text == positive or (text in _FRAUD and text != negative):
        return True
    if text == negative or text in _GENUINE:
        return False
    if text in _UNSURE:
        return "unsure"
    raise TableError(
        f"column {VERDICT!r} must contain fraud, genuine, unsure or nothing; got "
        f"{shortened(value)}; correct it and try again."
    )
