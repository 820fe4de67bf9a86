"""Tables in order of time: labelled rows to learn from, then rows of later days.

Where a table has cards, labels are known after 7 days, so that the last 7 days before the later
rows have none yet.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from toprank.payments.roles import Roles, new_history, with_columns

LABEL, TIME = "is_positive", "time"
_LATER_SHARE, _JUDGED_SHARE = 0.3, 0.15
_DELAY = 7  # days until a label is known, where there are cards
_N_LISTS = 30  # into which a test file without times is cut


class TimeTable(NamedTuple):
    """The rows of a table in order, [labelled | pending | later]; pending rows have no label yet.

    `rows` are those of a file, as `toprank fit` and `rank` read them, `roles` the columns of time,
    card, terminal and amount; `features` are what other learners get. `day` numbers the list that
    a row belongs to, `budget` is the number of rows checked per list.
    """

    rows: pa.Table
    roles: Mapping[str, str]
    features: pa.Table
    day: NDArray[np.int64]
    n_labelled: int
    first_later: int
    budget: int

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """Whether each row is positive."""
        return self.rows[LABEL].to_numpy()

    def later_days(self) -> list[slice]:
        """Return the later rows, day by day.

        >>> rows = pa.table({LABEL: [False, True, True, False]})
        >>> TimeTable(rows, {}, rows, np.array([4, 5, 5, 6]), 1, 1, 10).later_days()
        [slice(1, 3, None), slice(3, 4, None)]
        """
        later = self.day[self.first_later :]
        begins = np.flatnonzero(np.diff(later, prepend=later[0] - 1)) + self.first_later
        ends = [*begins[1:], self.day.size]
        return [slice(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]

    def earlier_and_judged(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the labelled rows to learn from while settings are chosen, and those to judge by.

        The latter are the latest 15 %; without times, they are drawn at random.
        """
        labelled = np.arange(self.n_labelled)
        if "time" in self.roles:
            begin = round((1 - _JUDGED_SHARE) * self.n_labelled)
            return labelled[:begin], labelled[begin:]
        earlier, judged = train_test_split(
            labelled,
            stratify=self.is_positive[: self.n_labelled],
            test_size=_JUDGED_SHARE,
            random_state=seed,
        )
        return np.sort(earlier), np.sort(judged)


def plain_table(
    features: pa.Table,
    is_positive: NDArray[np.bool_],
    moments: NDArray[np.datetime64],
    budget: int,
) -> TimeTable:
    """Return rows with a time: the last 30 % are later."""
    day = moments.astype("datetime64[D]").astype(np.int64)
    begin = _nearest_day(day, 1 - _LATER_SHARE)
    rows = features.append_column(TIME, pa.array(moments))
    rows = rows.append_column(LABEL, pa.array(is_positive))
    return TimeTable(rows, {"time": TIME}, features, day, begin, begin, budget)


def cards_table(rows: pa.Table, roles: Mapping[str, str], budget: int) -> TimeTable:
    """Return payments of cards: the last 30 % are later, the 7 days before them pending."""
    moments = rows[roles["time"]].to_numpy()
    day = moments.astype("datetime64[D]").astype(np.int64)
    begin = _nearest_day(day, 1 - _LATER_SHARE)
    n_labelled = int(np.searchsorted(day, day[begin] - _DELAY))
    # what PaymentModel makes of the same columns
    past = new_history(Roles(**roles), LABEL, f"{_DELAY}d").batch(rows)
    apart = [roles["time"], roles["card"], roles["terminal"], LABEL]
    features = with_columns(rows, past).drop_columns(apart)
    return TimeTable(rows, roles, features, day, n_labelled, begin, budget)


class LabelledFile(NamedTuple):
    """Features, which rows are positive, and of what kind each row is."""

    features: pa.Table
    is_positive: NDArray[np.bool_]
    kind: NDArray


def two_files_table(train: LabelledFile, test: LabelledFile, budget: int) -> TimeTable:
    """Return a file to learn from and a later one, which is cut into 30 equal lists."""
    names = train.features.column_names
    both = [train.features, test.features.select(names)]
    features = pa.concat_tables(both, promote_options="permissive")
    is_positive = np.concatenate([train.is_positive, test.is_positive])
    n_labelled, n_later = train.is_positive.size, test.is_positive.size
    lists = np.arange(n_later) * _N_LISTS // n_later
    day = np.concatenate([np.full(n_labelled, -1), lists])
    rows = features.append_column(LABEL, pa.array(is_positive))
    return TimeTable(rows, {}, features, day, n_labelled, n_labelled, budget)


def _nearest_day(day: NDArray[np.int64], share: float) -> int:
    """Return the first row of the day that begins nearest to a share of the rows."""
    begins = np.flatnonzero(np.diff(day)) + 1
    return int(begins[np.argmin(np.abs(begins - share * day.size))])
