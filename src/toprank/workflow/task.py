"""A labelled table made ready to learn from: features, labels, times and the split."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import splits
from toprank.data import tables
from toprank.data.inputs import Encoded, LearnedColumns
from toprank.data.tables import CodedTable, Labels, Schema, TableWarning
from toprank.data.tables.columns import shortened
from toprank.data.tables.id_columns import without_ids
from toprank.data.tables.positive_class import named_by_itself
from toprank.data.tables.row_numbers import as_slice, rows_of
from toprank.splits import Split
from toprank.wording import noun_of, percent
from toprank.workflow.backtest import ScoredWindow
from toprank.workflow.evaluation import Cards, cards_of
from toprank.workflow.likely_leaks import likely_leaks

_MANY_COPIES = 0.01  # of the test rows


class MoreRows(NamedTuple):
    """Rows to learn from besides those of a task: with their times and cards, if it has some."""

    features: pa.Table
    is_positive: NDArray[np.bool_]
    time: NDArray[np.datetime64] | None = None
    card: NDArray[np.int64] | None = None


class ScoredTest(NamedTuple):
    """The test rows as scored by a ranker; times, days and cards where the task has some.

    Days are counted from that of the first row of the task.
    """

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    time: NDArray[np.datetime64] | None
    day: NDArray[np.int64] | None
    cards: Cards | None

    def window(self, until: np.datetime64 | None, chosen: Any = slice(None)) -> ScoredWindow:
        """Return them, or some, as scored by a ranker that had learned from none after `until`."""
        time = None if self.time is None else self.time[chosen]
        card = None if self.cards is None else self.cards.card[chosen]
        return ScoredWindow(self.is_positive[chosen], self.suspicion[chosen], time, until, card)


@dataclass(frozen=True)
class Task:
    """A table made ready to learn from: features, labels, times and the split.

    `row_numbers` says which rows of the table these are, counted from 1; `noun` is what its
    positives are called.
    """

    features: pa.Table
    is_positive: NDArray[np.bool_]
    positive: Any
    negative: Any
    time: NDArray[np.datetime64] | None
    split: Split
    row_numbers: NDArray[np.int64]
    n_unlabelled: int
    cards: Cards | None = None
    noun: str = "positives"

    def rows(self, *parts: str) -> tuple[pa.Table, NDArray]:
        """Return the features and the original labels of one part, or of several in order."""
        chosen = as_slice(self.rows_in(*parts))
        return rows_of(self.features, chosen), self._labels(chosen)

    def encoded(self, schema: Schema, *parts: str) -> tuple[Encoded, NDArray]:
        """Return the same as `rows`, the features as `schema` encodes them; no part is all rows.

        The table is read once, however often this is called.
        """
        chosen = as_slice(self.rows_in(*parts))
        columns = LearnedColumns(schema, are_named=True)
        return Encoded(self.coded.encoded(schema)[chosen], columns), self._labels(chosen)

    def schema(self, *parts: str) -> Schema:
        """Return the columns as the rows of one part show them, or of several; no part is all."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)  # `prepare` warned of all rows
            return self.coded.schema(self.rows_in(*parts))

    @cached_property
    def coded(self) -> CodedTable:
        """The features as numbers."""
        return CodedTable(self.features)

    def window(
        self,
        rows: NDArray[np.int64],
        suspicion: NDArray[np.float64],
        until: np.datetime64 | None,
    ) -> ScoredWindow:
        """Return rows as scored by a ranker that had learned from none after `until`."""
        time = None if self.time is None else self.time[rows]
        card = None if self.cards is None else self.cards.card[rows]
        return ScoredWindow(self.is_positive[rows], suspicion, time, until, card)

    def test_rows(self, ranker: Any) -> ScoredTest:
        """Return the test rows as a ranker scores them."""
        features, labels = self.encoded(ranker.schema_, "test")
        time = None if self.time is None else self.time[self.split.test]
        suspicion = ranker.suspicion(features)
        of_rows = time, self.days("test"), self.cards_in("test")
        return ScoredTest(labels == self.positive, suspicion, *of_rows)

    def test_features(self, places: NDArray[np.intp]) -> pa.Table:
        """Return the features of some rows of `test_rows`."""
        return self.features.take(pa.array(self.split.test[places]))

    def test_names(self, places: NDArray[np.intp]) -> list[str]:
        """Return what some rows of `test_rows` are called in a report: their numbers."""
        return [f"{row}" for row in self.row_numbers[self.split.test[places]]]

    def counts(self, rows: NDArray[np.int64] | None = None) -> tuple[int, int]:
        """Return how many rows there are, and positives; of all rows, or of these."""
        is_positive = self.is_positive if rows is None else self.is_positive[rows]
        return is_positive.size, int(is_positive.sum())

    def with_test(
        self, windows: Sequence[ScoredWindow], rows: ScoredTest, until: np.datetime64 | None
    ) -> list[ScoredWindow]:
        """Return the windows to learn probabilities and drift from: these, then the test."""
        return [*windows, rows.window(until)]

    def typical_rows(self, *parts: str) -> NDArray[np.int64]:
        """Return numbers of rows of these parts that are spread as all of their rows are."""
        return self.rows_in(*parts)

    @property
    def gap(self) -> np.timedelta64 | None:
        """The time between what is learned from and the test; None without times."""
        periods = self.split.periods
        return None if periods is None else periods["test"][0] - periods["validation"][1]

    @property
    def newest(self) -> np.datetime64 | None:
        """The time of the newest row; None without times."""
        return None if self.time is None else self.time.max()

    def days(self, part: str) -> NDArray[np.int64] | None:
        """Return the day of each row of one part; None without times."""
        return None if self.time is None else splits.days(self.time)[self.split.parts()[part]]

    def cards_in(self, part: str) -> Cards | None:
        """Return the card of each row of one part; None without cards."""
        if self.cards is None:
            return None
        rows = self.split.parts()[part]
        amount = self.cards.amount
        return Cards(self.cards.card[rows], None if amount is None else amount[rows])

    def card_days(self, *parts: str) -> NDArray[np.int64]:
        """Return a number for each row of these parts, the same for a card's rows of a day."""
        if self.cards is None or self.time is None:
            raise ValueError(
                "`card` and `time` must be given where the list is of each day's cards; got no "
                f"{'time' if self.time is None else 'card'}."
            )
        chosen = self.rows_in(*parts)
        card, day = self.cards.card[chosen], splits.days(self.time)[chosen]
        first = day.min()
        return card * (day.max() - first + 1) + day - first

    def with_more(self, more: "MoreRows") -> "Task":
        """Return the task with further rows below its own; they are in no part of the split."""
        columns = [self.features, more.features.select(self.features.column_names)]
        time, cards = self.time, self.cards
        if time is not None and more.time is not None:
            time = np.concatenate([time, more.time])
        if cards is not None and more.card is not None:
            # numbers of their own: no card's day has rows of both
            card = np.concatenate([cards.card, cards.card.max() + 1 + more.card])
            cards = Cards(card)
        return replace(
            self,
            features=pa.concat_tables(columns, promote_options="permissive"),
            is_positive=np.concatenate([self.is_positive, more.is_positive]),
            time=time,
            cards=cards,
        )

    def rows_in(self, *parts: str) -> NDArray[np.int64]:
        """Return the numbers of the rows of one part, or of several; no part is all rows."""
        if not parts:
            return np.arange(self.is_positive.size)
        return np.concatenate([self.split.parts()[part] for part in parts])

    def _labels(self, chosen: NDArray[np.int64] | slice) -> NDArray:
        names = np.array([self.negative, self.positive])
        return names[self.is_positive[chosen].astype(int)]


def prepare(
    table: pa.Table,
    label: str,
    *,
    time: str | None = None,
    positive_label: Any = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    gap: np.timedelta64 | None = None,
    card: str | None = None,
    amount: str | None = None,
    random_state: int = 0,
    labels: Labels | None = None,
    test_begin: np.datetime64 | None = None,
) -> Task:
    """Return the task of ranking the positives of column `label`; unlabelled rows are left out.

    So are columns that only name their rows, unless `keep` names them. A warning says which, and
    others point out what may be wrong with the rest of the table.

    With `card`, it is also measured how checking cards does, and with `amount` the money caught.
    Who has parsed the label already passes what `tables.split_label` gave as `labels`. With
    times, rows from `test_begin` on are the test; by default it is the latest quarter.

    >>> table = pa.table({"amount": range(60), "is_fraud": [i % 10 == 0 for i in range(60)]})
    >>> task = prepare(table, "is_fraud")
    >>> {part: rows.size for part, rows in task.split.parts().items()}
    {'train': 35, 'validation': 9, 'test': 16}
    """
    if labels is None:
        labels = tables.split_label(table, label, positive_label)
    known = np.flatnonzero(labels.known)
    names = feature_names(table.column_names, label, time, list(drop), list(keep))
    features = table.select(without_ids(table, names, list(keep)))
    if known.size < table.num_rows:
        tables.check_finite_columns(features)  # what is wrong is said of all rows
        features = rows_of(features, as_slice(known))
    is_positive = labels.is_positive[known]
    _warn_of_positive(label, labels, is_positive, positive_label)
    times = None
    if time is not None:
        times = tables.time_column(table, time)[known]
        tables.warn_of_odd_times(table[time], times, time)
    if times is None:
        split = splits.stratified(is_positive, random_state=random_state)
    else:
        split = splits.chronological(times, gap=gap, test_begin=test_begin)
    splits.check_positives(split, is_positive)
    split = _with_copies_apart(split, features, is_positive)
    task = Task(
        features,
        is_positive,
        *class_names(labels.positive, labels.negative),
        times,
        split,
        row_numbers=known + 1,
        n_unlabelled=table.num_rows - known.size,
        cards=None if card is None else cards_of(table, card, amount, known),
        noun=noun_of(label),
    )
    # what is wrong with a column is found now, not once the trees are grown
    task.coded.schema(np.arange(known.size))
    _warn_of_leaks(task)
    return task


def feature_names(
    names: list[str], label: str, time: str | None, drop: list[str], keep: Sequence[str] = ()
) -> list[str]:
    """Return the columns to learn from: all but the label, the time and those to drop.

    >>> feature_names(["paid_at", "amount", "is_fraud"], "is_fraud", "paid_at", drop=[])
    ['amount']
    """
    if time == label:
        raise ValueError(f"`time` must be another column than `label`; got {label!r} for both.")
    tables.check_columns([*drop, *keep], names)
    left_out = {label, time, *drop}
    for name in keep:
        if name in left_out:
            raise ValueError(
                f"`keep` must name columns to learn from; {name!r} is the label, the time or "
                "dropped."
            )
    features = [name for name in names if name not in left_out]
    if not features:
        raise tables.TableError(
            "the table must have a column to learn from in addition to the label, the time and "
            f"the dropped ones; got only {', '.join(map(repr, names))}."
        )
    return features


def class_names(positive: Any, negative: Any) -> tuple[Any, Any]:
    """Return the label's values as classes may be called: decimals as whole numbers or text.

    >>> class_names(1.0, 0.0)
    (1, 0)
    """
    both = (positive, negative)
    if all(isinstance(value, str | int) for value in both):
        return both
    as_class = int if all(float(value).is_integer() for value in both) else str
    return as_class(positive), as_class(negative)


def _with_copies_apart(split: Split, features: pa.Table, is_positive: NDArray[np.bool_]) -> Split:
    """Return the split without copies of test rows among those to learn from, where it can be.

    By time, a copy stays where it is: the same payment may well come again.
    """
    groups = splits.copies(features)
    share = 0.0 if groups is None else splits.copied_share(split, groups)
    if groups is None or not share:
        return split
    done = "so the figures may be too good; leave out copies that are no rows of their own."
    if split.periods is None:
        together = splits.with_copies_together(split, groups)
        if all(0 < is_positive[rows].sum() < rows.size for rows in together.parts().values()):
            split = together
            done = "so copies are kept on one side of the split."
    if share >= _MANY_COPIES:
        warnings.warn(
            f"{percent(share)} of the test rows equal a row to learn from in every column, {done}",
            TableWarning,
            stacklevel=3,
        )
    return split


def _warn_of_positive(
    label: str, labels: Labels, is_positive: NDArray[np.bool_], given: Any
) -> None:
    """Say which value is taken as positive, where that may surprise."""
    if given is not None:
        return
    positive, negative = (shortened(each) for each in (labels.positive, labels.negative))
    share = percent(is_positive.mean())
    other = f"rank the others first with `positive_label={str(labels.negative)!r}`."
    if named_by_itself([labels.positive, labels.negative]) is None:
        why = "the less frequent one"
    elif 2 * np.count_nonzero(is_positive) > is_positive.size:
        why = "by its name, although most rows have it"
    else:
        return
    warnings.warn(
        f"of the values of {label!r}, {positive} is taken as positive ({share} of the rows), "
        f"{why}, and {negative} as negative; {other}",
        TableWarning,
        stacklevel=3,
    )


def _warn_of_leaks(task: Task) -> None:
    """Warn of columns that give the label away."""
    schema = task.schema("train")
    parts = []
    for part in ("train", "validation"):
        rows, labels = task.encoded(schema, part)
        parts.append((rows.features, labels == task.positive))
    for name, ap in likely_leaks(schema, *parts).items():
        warnings.warn(
            f"column {name!r} alone ranks the validation rows with AP {ap:.2f}: it probably gives "
            f"the label away and will not be known in time; leave it out with `drop={[name]!r}`.",
            TableWarning,
            stacklevel=3,
        )
