"""The rows to check: the most suspicious of a table too large to hold, with their reasons."""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data import checks, inputs
from toprank.data.tables import (
    TableError,
    TableWarning,
    WrittenBatch,
    check_columns,
    key_codes,
    time_column,
)
from toprank.data.tables.ids import id_texts
from toprank.metrics import Interval
from toprank.notebook_views import ShownInNotebooks
from toprank.rankers import reasons
from toprank.rankers.list_reasons import NO_REASON, reasons_for_list
from toprank.rankers.reasons import Reason
from toprank.wording import plural, significant
from toprank.workflow.promise import Promise, expected_of_unlike_rows
from toprank.workflow.usual_rows import ShiftWatch

_LEAST_ROWS_TO_WARN = 5
_PROBABILITY_DIGITS, _SUSPICION_DIGITS = 3, 4  # that people read

DescriberOf = Callable[[pa.Table], reasons.Describer]
"""Returns who puts reasons into words, given the facts of the listed rows."""


@dataclass(frozen=True)
class AlertList(ShownInNotebooks):
    """The top rows, most suspicious first.

    `rows` holds them as they came; `row_numbers` counts from 1 in the order they were read.
    `less_suspicious` is what speaks against each alert, apart from its reasons. A detector, which
    learned from no labels, knows neither that nor a probability nor what to expect; where it is
    one tree, `rules` says for each row why the tree finds its place empty. `cleared` says when an
    investigator cleared the card of each row lately, NaT for most; `n_left_out` counts the rows
    of cards that are known as fraud. `facts` are the columns that say what a row is, such as its
    card and time, as they were read and under these names. `together` has, for rows without
    reasons, the ordinary values that are suspicious together; `noun` is what its positives are
    called.
    """

    rows: pa.Table
    row_numbers: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64] | None
    reasons: list[list[Reason]]
    expected: Interval | None
    n_seen: int
    rules: list[str] | None = None
    cleared: NDArray[np.datetime64] | None = None
    n_left_out: int = 0
    less_suspicious: list[list[Reason]] | None = None
    facts: pa.Table | None = None
    has_reasons: bool = True
    together: list[list[str]] | None = None
    noun: str = "positives"

    def reason_texts(self, place: int) -> list[str]:
        """Return the reasons of one row in words; a row without any says what that means."""
        texts = list(map(str, self.reasons[place]))
        if texts or not self.has_reasons:
            return texts
        together = self.together[place] if self.together else []
        return [f"{NO_REASON}: {', '.join(together)}" if together else NO_REASON]

    def to_table(self, for_verdicts: bool = False, rounded: bool = False) -> pa.Table:
        """Return the list as one table: rank, row, suspicion, probability, reasons, then columns.

        Without probabilities there is no such column; what makes a row less suspicious, rules and
        times at which cards were cleared, if there are any, follow the reasons. `for_verdicts`
        adds an empty column to be filled in, which `toprank label` reads. `rounded` leaves of our
        own numbers as many digits as people read. A column of the data that has one of these
        names keeps it, with `data_` in front.
        """
        n_rows = len(self.suspicion)
        is_cleared = self.cleared is not None and not np.isnat(self.cleared).all()
        suspicion, probability = self.suspicion, self.probability
        if rounded:
            suspicion = significant(suspicion, _SUSPICION_DIGITS)
            if probability is not None:
                probability = significant(probability, _PROBABILITY_DIGITS)
        added = {
            "rank": np.arange(1, n_rows + 1),
            "row": self.row_numbers,
            "suspicion": suspicion,
            "probability": probability,
            "reasons": [" | ".join(self.reason_texts(place)) for place in range(n_rows)],
            "less_suspicious": self._against(),
            "rule": self.rules,
            "cleared": self.cleared if is_cleared else None,
            "verdict": pa.nulls(n_rows, pa.string()) if for_verdicts else None,
        }
        added = {name: values for name, values in added.items() if values is not None}
        columns = {name: pa.array(values) for name, values in added.items()}
        names = set(self.rows.column_names)
        for name in self.rows.column_names:
            columns[_free_name(name, names) if name in added else name] = self.rows[name]
        return pa.table(columns)

    def _against(self) -> list[str] | None:
        if self.less_suspicious is None:
            return None
        return [" | ".join(map(str, row)) for row in self.less_suspicious]


def top_alerts(
    ranker: Any,
    batches: Iterable[pa.Table | WrittenBatch],
    budget: int,
    n_reasons: int = 5,
    one_per: str | None = None,
    left_out: Collection[str] = (),
    facts: Mapping[str, str] | None = None,
    describer_of: DescriberOf | None = None,
    promise: Promise | None = None,
    watch: ShiftWatch | None = None,
) -> AlertList:
    """Return the `budget` most suspicious rows of all batches; of equals, the earlier.

    With `one_per`, a column such as the card, only the most suspicious row of each of its values
    is listed, and none of the values in `left_out`. Only one batch and the best rows so far are
    held at any time. Of a `WrittenBatch`, the rows are scored as read and listed as written.

    `facts` names columns to keep as they were read, each under its key; a column that is not
    there is left out. `describer_of` is given them and returns who chooses the words of reasons.
    With a `promise` and times among the facts, what to expect allows for the model's age. A
    `watch` sees all rows, to say in the end whether they are unlike those learned from; without
    a promise, the range of what to expect is then wider.

    >>> from toprank import BoostedRanker
    >>> payments = pa.table({"amount": [float(i) for i in range(200)]})
    >>> ranker = BoostedRanker(n_estimators=20).fit(payments, np.arange(200) > 190)
    >>> alerts = top_alerts(ranker, [payments.slice(0, 195), payments.slice(195)], budget=3)
    >>> alerts.row_numbers.tolist()
    [192, 193, 194]
    """
    checks.whole_number(budget, "budget", 1)
    checks.whole_number(n_reasons, "n_reasons", 0)
    best: _Top | None = None
    n_seen = n_left_out = 0
    for batch in batches:
        if not isinstance(batch, WrittenBatch):
            batch = WrittenBatch(batch, batch)
        table, shown, numbers = batch
        if not table.num_rows:
            continue
        if numbers is None:
            numbers = np.arange(n_seen + 1, n_seen + table.num_rows + 1)
        found = _Top.of(ranker, table, shown, numbers, one_per, facts or {})
        n_seen += table.num_rows
        if watch is not None:
            watch.see(found.features, found.scores)
        if left_out:
            found = found.without(left_out)
            n_left_out += table.num_rows - found.scores.size
        best = found.first(budget) if best is None else best.joined(found.first(budget), budget)
    if best is None:
        raise ValueError("there are no rows to rank.")
    alerts = _listed(ranker, best, n_reasons, n_seen, describer_of, promise, watch)
    return replace(alerts, n_left_out=n_left_out)


def top_of_scored(
    ranker: Any,
    table: pa.Table,
    suspicion: NDArray[np.float64],
    budget: int,
    n_reasons: int = 5,
    encoded: inputs.Encoded | None = None,
    describer: reasons.Describer | None = None,
) -> AlertList:
    """Return the `budget` most suspicious rows of a table whose rows have been scored before.

    A caller that has the whole table `encoded` passes it, and nothing is encoded again.

    >>> from toprank import BoostedRanker
    >>> payments = pa.table({"amount": [float(i) for i in range(200)]})
    >>> ranker = BoostedRanker(n_estimators=20).fit(payments, np.arange(200) > 190)
    >>> top_of_scored(ranker, payments, ranker.suspicion(payments), 3).row_numbers.tolist()
    [192, 193, 194]
    """
    first = _first(suspicion, budget)
    rows = table.take(first)
    features = inputs.read_features(ranker, rows) if encoded is None else encoded.features[first]
    best = _Top(rows, features, None, _no_facts(first), suspicion[first], first + 1)
    describer_of = None if describer is None else lambda _: describer
    return _listed(ranker, best, n_reasons, table.num_rows, describer_of)


def most_unusual(detector: Any, table: pa.Table, n_rows: int, n_reasons: int = 5) -> AlertList:
    """Return the `n_rows` most suspicious rows of the very table that the detector learned from.

    The table may have columns that it did not learn from, too; no row is scored again.

    >>> from toprank import AnomalyTreeRank
    >>> payments = pa.table({"amount": [*range(1, 201), 900]})
    >>> most_unusual(AnomalyTreeRank().fit(payments), payments, 1).to_table()["reasons"][0].as_py()
    'amount 900; usual 11-191'
    """
    checks.whole_number(n_rows, "n_rows", 1)
    checks.whole_number(n_reasons, "n_reasons", 0)
    scores = detector.decision_scores_
    if scores.size != table.num_rows:
        raise ValueError(
            f"table must have the {scores.size} rows that the detector learned from; it has "
            f"{table.num_rows}."
        )
    first = _first(scores, n_rows)
    rows = table.take(first)
    features = inputs.read_features(detector, rows)
    best = _Top(rows, features, None, _no_facts(first), scores[first], first + 1)
    return _unusual(detector, best, n_reasons, table.num_rows)


def has_probabilities(ranker: Any) -> bool:
    """Return whether a ranker learned from labels: a detector has no probabilities."""
    return hasattr(ranker, "calibration_")


class _Top(NamedTuple):
    """Rows as they are shown, as the ranker takes them, and whose they are; None is nobody's."""

    rows: pa.Table
    features: NDArray[np.float32]
    owners: pa.Table | None
    facts: pa.Table
    scores: NDArray[np.float64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        ranker: Any,
        table: pa.Table,
        shown: pa.Table,
        numbers: NDArray[np.int64],
        one_per: str | None,
        facts: Mapping[str, str],
    ) -> Self:
        """Return all rows of a batch, read and scored."""
        features = inputs.read_features(ranker, table)
        scores = ranker.suspicion(inputs.Encoded(features))
        owners = None if one_per is None else _owners(table, one_per)
        found = {key: table[name] for key, name in facts.items() if name in table.column_names}
        kept = pa.table(found) if found else _no_facts(numbers)
        return cls(shown, features, owners, kept, scores, numbers)

    def without(self, left_out: Collection[str]) -> Self:
        """Return the rows of all other owners."""
        assert self.owners is not None
        (name,) = self.owners.column_names
        owners = id_texts(self.owners[name], name)
        is_out = pc.is_in(owners, pa.array(sorted(left_out), owners.type))
        return self._chosen(np.flatnonzero(~is_out.to_numpy(zero_copy_only=False)))

    def first(self, budget: int) -> Self:
        """Return the rows with the highest scores, at most one of each owner."""
        return self._chosen(_first_of(self.owners, self.scores, budget))

    def _chosen(self, rows: NDArray[np.intp]) -> Self:
        return self._replace(
            rows=self.rows.take(rows),
            features=self.features[rows],
            owners=None if self.owners is None else self.owners.take(rows),
            facts=self.facts.take(rows),
            scores=self.scores[rows],
            numbers=self.numbers[rows],
        )

    def joined(self, more: Self, budget: int) -> Self:
        """Return the first rows of both."""
        together = self._replace(
            rows=_joined(self.rows, more.rows),
            features=np.concatenate([self.features, more.features]),
            owners=None if self.owners is None else _joined(self.owners, more.owners),
            facts=_joined(self.facts, more.facts),
            scores=np.concatenate([self.scores, more.scores]),
            numbers=np.concatenate([self.numbers, more.numbers]),
        )
        return together.first(budget)


def _listed(
    ranker: Any,
    best: _Top,
    n_reasons: int,
    n_seen: int,
    describer_of: DescriberOf | None = None,
    promise: Promise | None = None,
    watch: ShiftWatch | None = None,
) -> AlertList:
    """Return the list of these rows."""
    if not best.scores.size:
        return AlertList(best.rows, best.numbers, best.scores, best.scores, [], None, n_seen)
    _warn_of_gone_columns(ranker, best.features)
    if not has_probabilities(ranker):
        return _unusual(ranker, best, n_reasons, n_seen)
    describer = describer_of(best.facts) if describer_of is not None and n_reasons else None
    features = inputs.Encoded(best.features)
    found = reasons_for_list(ranker, features, n_reasons, describer)
    return AlertList(
        best.rows,
        best.numbers,
        best.scores,
        ranker.calibration_.probability(best.scores),
        [row.reasons for row in found],
        _expected(ranker, best, promise, watch),
        n_seen,
        less_suspicious=[row.less_suspicious for row in found],
        facts=best.facts,
        has_reasons=n_reasons > 0 and hasattr(ranker, "contributions"),
        together=[row.together for row in found],
    )


def _expected(
    ranker: Any, best: _Top, promise: Promise | None, watch: ShiftWatch | None
) -> Interval:
    """Return how many positives to expect among the rows."""
    if promise is None:
        if watch is not None and watch.shifted():
            return expected_of_unlike_rows(ranker.calibration_, best.scores)
        return ranker.calibration_.expected_positives(best.scores)
    times = time_column(best.facts, "time") if "time" in best.facts.column_names else None
    if times is not None and (beyond := promise.days_beyond(times)):
        n_days = math.ceil(beyond)
        warnings.warn(
            f"the model is {n_days} {plural('day', n_days)} older than it was in its backtest "
            f"({promise.drift.oldest:.0f} days) when the newest listed row comes: what to expect "
            "may be further off than its range says; fit or refit the model with newer rows.",
            TableWarning,
            stacklevel=4,
        )
    return promise.expected(ranker.calibration_, best.scores, times)


def _unusual(detector: Any, best: _Top, n_reasons: int, n_seen: int) -> AlertList:
    """Return the list of a detector."""
    from toprank.rankers.anomaly.listing import rules_of_rows  # which loads the trees

    features = inputs.Encoded(best.features)
    return AlertList(
        best.rows,
        best.numbers,
        best.scores,
        probability=None,
        reasons=reasons.what_is_unusual(detector, features, n_reasons),
        expected=None,
        n_seen=n_seen,
        rules=rules_of_rows(detector, features),
        facts=best.facts,
        has_reasons=False,  # rows that are alike have none, and nothing is wrong with that
    )


def _warn_of_gone_columns(ranker: Any, features: NDArray[np.float32]) -> None:
    """Warn of columns without a value in any listed row that had values in training.

    Trees learned nothing from a missing value that training rows never had: rows may be at the
    top for that alone.
    """
    if len(features) < _LEAST_ROWS_TO_WARN:
        return
    n_values = np.count_nonzero(~np.isnan(features), axis=0).tolist()
    for name, usual, present in zip(ranker.schema_.names, ranker.usual_, n_values, strict=True):
        if not present and usual != reasons.Usual():
            warnings.warn(
                f"column {name!r} is missing or new in every listed row; in training it was "
                f"usually {usual}. Check the data: the list may depend on what is missing.",
                TableWarning,
                stacklevel=4,
            )


def _first(scores: NDArray[np.float64], budget: int) -> NDArray[np.intp]:
    """Return the places of the highest scores, falling; of equals, the earlier come first."""
    return np.argsort(-scores, kind="stable")[:budget]


def _first_of(
    owners: pa.Table | None, scores: NDArray[np.float64], budget: int
) -> NDArray[np.intp]:
    """Return the places of the highest scores, at most one for each owner."""
    if owners is None:
        return _first(scores, budget)
    falling = _first(scores, scores.size)
    (name,) = owners.column_names
    # np.unique gives the first place of each: its highest score
    _, places = np.unique(key_codes(owners, name)[falling], return_index=True)
    return falling[np.sort(places)[:budget]]


def _no_facts(rows: NDArray[np.int64]) -> pa.Table:
    return pa.table({"row": rows})


def _owners(table: pa.Table, one_per: str) -> pa.Table:
    check_columns([one_per], table.column_names)
    return table.select([one_per])


def _joined(best: pa.Table, top: pa.Table) -> pa.Table:
    """Return the rows of both; whole numbers join fractions, and missing columns any others."""
    try:
        return pa.concat_tables([best, top], promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"a column must hold one type of values in all batches; {error}; convert it in all "
            "batches, or drop it."
        ) from error


def _free_name(name: str, taken: set[str]) -> str:
    """Return `name` with `data_` in front, as often as it takes to be a new name."""
    while name in taken:
        name = f"data_{name}"
    return name
