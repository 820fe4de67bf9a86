"""Labels as known at a moment, and metrics with the share of labels they are based on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.tables.spans import span_of
from toprank.payments.ledger.entries import NO_SOURCE, StoredLabel
from toprank.payments.ledger.holding import SILENCE, SOURCES
from toprank.splits.moments import moments_of

_CODES = {"": NO_SOURCE, **{source: code for code, source in enumerate(SOURCES)}}
_NOTHING = StoredLabel("", False, np.datetime64("NaT", "us").view(np.int64).item(), "", 0.0, "")


@dataclass(frozen=True, eq=False)
class Known:
    """The labels of rows as known at a moment, one entry per row in the order of `ids`.

    Where `has_label` is False, `is_positive` is False, `confidence` 0 and `known` NaT.
    `source_code` is the place of the source in `SOURCES`, or -1.
    """

    moment: np.datetime64
    ids: NDArray
    has_label: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    source_code: NDArray[np.int8]
    confidence: NDArray[np.float64]
    known: NDArray[np.datetime64]

    @classmethod
    def of_labels(
        cls, moment: np.datetime64, ids: NDArray, labels: "list[StoredLabel | None]"
    ) -> "Known":
        """Return the view of labels, one per id; None where a row has none."""
        found = [_NOTHING if label is None else label for label in labels]
        return cls(
            moment,
            ids,
            np.array([label is not None for label in labels], dtype=bool),
            np.array([label.is_positive for label in found], dtype=bool),
            np.array([_CODES[label.source] for label in found], dtype=np.int8),
            np.array([label.confidence for label in found], dtype=np.float64),
            np.array([label.known for label in found], dtype=np.int64).view("datetime64[us]"),
        )

    @cached_property
    def source(self) -> NDArray[np.str_]:
        """The source of each label in words, empty where there is none."""
        return np.array([*SOURCES, ""])[self.source_code]

    def maturity(self, rows: ArrayLike | None = None) -> float:
        """Return the share of the rows that have a label; `rows` restricts it to some of them."""
        labelled = self.has_label if rows is None else self.has_label[np.asarray(rows)]
        if not labelled.size:
            raise ValueError("maturity needs at least one row; got none.")
        return float(labelled.mean())

    def silence(self, time: ArrayLike, after: Any = "30d") -> "Known":
        """Return the view in which rows without a label count as genuine after some time.

        `time` is the moment of each row. Its label then has the source "silence" and is known from
        `after` that moment on.

        >>> from toprank.payments.ledger import MemoryLedger
        >>> ledger = MemoryLedger()
        >>> time = np.array(["2025-01-01", "2025-02-20"], dtype="datetime64[us]")
        >>> ledger.as_known("2025-03-01", ids=[7, 8]).silence(time, after="30d").source
        array(['silence', ''], dtype='<U12')
        """
        since = moments_of(time) + span_of(after, "after")
        if since.size != self.ids.size:
            raise ValueError(
                f"time must have {self.ids.size} moments, one per row; got {since.size}."
            )
        silent = ~self.has_label & (since < self.moment)
        return replace(
            self,
            has_label=self.has_label | silent,
            source_code=np.where(silent, np.int8(SILENCE), self.source_code),
            confidence=np.where(silent, 1.0, self.confidence),
            known=np.where(silent, since, self.known),
        )


class Matured(NamedTuple):
    """A metric on the rows whose label is known, with the share of such rows."""

    value: float
    maturity: float
    n_labelled: int
    n_rows: int

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.maturity:.0%} of {self.n_rows} labels known)"


def mature(
    metric: Callable[..., float],
    known: Known,
    suspicion: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    **options: Any,
) -> Matured:
    """Return `metric` on the known labels, with the share of the rows that have one.

    `rows`, a mask or row numbers, restricts the metric to some rows; the default is all. `options`
    are further arguments of the metric; those with a value per row, such as cards, are cut to the
    rows used. At a low maturity the metric describes the labels that come early, and those are not
    like the others: checked rows were chosen by suspicion.

    >>> from toprank.metrics import average_precision
    >>> from toprank.payments.ledger import MemoryLedger
    >>> ledger = MemoryLedger()
    >>> ledger.append([1, 2], [True, False], known="2025-01-03", source="investigator")
    2
    >>> print(mature(average_precision, ledger.as_known("2025-02-01", [1, 2, 3]), [0.9, 0.5, 0.1]))
    1.000 (67% of 3 labels known)
    """
    n_rows = known.ids.size
    suspicions = checks.finite_vector(suspicion, "suspicion")
    if suspicions.size != n_rows:
        raise ValueError(f"suspicion must have {n_rows} values; got {suspicions.size}.")
    asked = np.arange(n_rows) if rows is None else np.arange(n_rows)[np.asarray(rows)]
    used = asked[known.has_label[asked]]
    options = {name: _cut(value, n_rows, used) for name, value in options.items()}
    value = metric(known.is_positive[used], suspicions[used], **options)
    return Matured(float(value), known.maturity(asked), used.size, asked.size)


def _cut(value, n_rows, used):
    per_row = np.ndim(value) == 1 and len(value) == n_rows
    return np.asarray(value)[used] if per_row else value
