"""Checks that new rows follow a history without a gap, and warnings where they do not."""

import warnings
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from toprank.data.tables import TableWarning, time_column
from toprank.payments.features import History
from toprank.wording import listed, plural

_GAP = np.timedelta64(1, "D")


class JoinWatch:
    """Watches the times of tables that are added to a history one after the other.

    `n_known_in` returns how many rows of a table are in the history already.
    """

    def __init__(
        self, history: History, n_known_in: Callable[[pa.Table], int] | None = None
    ) -> None:
        self._history, self._n_known_in = history, n_known_in
        self._n_known = 0
        self._since, self._until = history.since, history.until
        self._n_repeated_before = history.n_repeated
        self._newest: np.datetime64 | None = None
        self._n_rows = self._n_old = self._n_too_old = 0
        self._is_out_of_order = False

    def see(self, rows: pa.Table) -> None:
        """Look at the next table, before it is added to the history."""
        times = time_column(rows, self._history.time)
        if not times.size:
            return
        first = times.min()
        if self._newest is None:
            self._see_gap(first)
            if self._history.row_id is None and self._n_known_in is not None:
                self._n_known = self._n_known_in(rows)
        elif first < self._newest and not self._is_out_of_order:
            self._is_out_of_order = True
            _warn(
                f"the rows should be in order of {self._history.time!r}; a row does not count in "
                "the features of later rows that are far before it in the file."
            )
        self._newest = times.max() if self._newest is None else max(self._newest, times.max())
        self._n_rows += times.size
        if self._since is not None:  # rows known by their ids have lost their windows as well
            self._n_too_old += int(np.count_nonzero(times < self._since))
        if self._until is not None:
            self._n_old += int(np.count_nonzero(times <= self._until))

    def end(self, is_remembered: bool) -> None:
        """Warn of what was unusual in the tables; raise if they were remembered before.

        Rows that come again are recognised by their ids. Without ids, none of them may be equal to
        a remembered row, and rows most of which are not newer than the history were probably
        remembered before.
        """
        history = self._history
        n_repeated = history.n_repeated - self._n_repeated_before
        if self._n_too_old:
            _warn(
                f"{self._n_too_old:,} rows are older than what the history keeps; little of their "
                "past is known, so their suspicion is not reliable."
            )
        if history.row_id is not None:
            if n_repeated:
                _warn(
                    f"{n_repeated:,} rows have the id of an earlier row in {history.row_id!r}; "
                    "they count once."
                )
        elif self._n_old and is_remembered and 2 * self._n_old > self._n_rows:
            raise ValueError(
                f"rows to remember must be after {self._until}, the end of the history; "
                f"{self._n_old:,} of {self._n_rows:,} are not, and were probably remembered "
                "before; rank them without remembering (--remember), or fit with a column of ids "
                "(--id), by which rows are recognised."
            )
        elif self._n_known and is_remembered:
            raise ValueError(
                f"rows to remember must not be in the history already; {self._n_known:,} of "
                f"{self._n_rows:,} are, equal in {listed(history.columns)}; take them out of the "
                "file, or fit with a column of ids (--id), by which rows are recognised."
            )
        elif self._n_old and is_remembered:
            _warn(
                f"{self._n_old:,} rows are not after {self._until}, the end of the history; they "
                "are remembered as late ones."
            )
        elif self._n_old:
            _warn(
                f"{self._n_old:,} rows are not after {self._until}, the end of the history; "
                "those that it knows already count twice."
            )

    def _see_gap(self, first: np.datetime64) -> None:
        if self._until is None or first - self._until <= _GAP:
            return
        days = round((first - self._until) / np.timedelta64(1, "D"))
        _warn(
            f"the history ends {days} {plural('day', days)} before the first of these rows; "
            "payments in between are missing from their features; add them first (--remember)."
        )


def _warn(sentence: str) -> None:
    warnings.warn(sentence, TableWarning, stacklevel=2)
