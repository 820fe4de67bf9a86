"""A new version of a payment model: learned from all that is known now, compared with the old.

Rows come from the archive of the history, and labels are those that hold now. A day is used once
it has matured: each of its payments has a label, or is so old that silence counts as genuine. So
days with labels only from the latest verdicts are left out completely, not just their other rows.

In the comparison, rows known only by a verdict are left out as well. They were checked because the
current version listed their cards: counting them would credit that version with frauds that nobody
would have reported otherwise, and charge the new one for cards it was never checked on. Claims of
card holders, and silence, do not depend on any list.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import metrics, splits
from toprank.data import tables
from toprank.data.tables.ids import id_texts
from toprank.data.tables.spans import DAY, span_of
from toprank.metrics import Comparison, Interval
from toprank.payments.far_times import are_wrong
from toprank.payments.issued_lists import SILENCE
from toprank.payments.ledger import SOURCES, Ledger
from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import new_history, rows_of, with_columns
from toprank.rankers.progress import Progress

LEAST_DAYS, LEAST_POSITIVES = 2, 5
"""How much must have matured since a version was fitted for another to be compared with it."""


class VersionFigures(NamedTuple):
    """One version on the days of the comparison."""

    average_precision: Interval
    cards_found: float  # per day, in the budget's checks


class VersionComparison(NamedTuple):
    """Two versions on the same rows: how far `new` is ahead of `old`."""

    old: VersionFigures
    new: VersionFigures
    average_precision: Comparison
    cards_found: Comparison
    first_day: np.datetime64
    last_day: np.datetime64
    n_rows: int
    n_positives: int
    n_verdicts_alone: int  # rows left out


class Refitted(NamedTuple):
    """The new version, and how it compares with the old one.

    There is no comparison while hardly any day has matured since the old one was fitted.
    """

    model: PaymentModel
    comparison: VersionComparison | None


class MaturedRows(NamedTuple):
    """The rows of matured days, with their features as of their own time and their labels."""

    table: pa.Table
    is_verdict_alone: NDArray[np.bool_]
    n_immature: int


def refit(
    model: PaymentModel, *, silence: Any = SILENCE, progress: Progress | None = None
) -> Refitted:
    """Return a model that learned from the whole history and ledger, and the comparison.

    The given model is not changed. Both share one history.
    """
    if model.state_ is None:
        raise ValueError(
            "the model must have a history to be refitted from it; it was fitted without a card; "
            "fit it again on a table of all rows."
        )
    rows = matured_rows(model, silence)
    new = PaymentModel(**model.get_params(deep=False))
    new.state_, new.classes_ = model.state_, model.classes_
    new.reading_, new.stored_cards_ = model.reading_, model.stored_cards_
    new_days = first_new_day(model, rows)
    new.fit_features(rows.table, progress=progress, test_begin=new_days)
    if new_days is None:
        return Refitted(new, None)
    return Refitted(new, compare_versions(model, new, rows.is_verdict_alone))


def first_new_day(model: PaymentModel, rows: MaturedRows) -> np.datetime64 | None:
    """Return the first day that a model did not learn from, if enough came after it to compare.

    The new version is then tested on these days, before it learns from them, too.
    """
    time = tables.time_column(rows.table, str(model.time))
    until = model.learned_until
    if until is None:
        return None
    begin = until.astype("datetime64[D]") + DAY
    labels = tables.split_label(rows.table, model.label_column, model.classes_[0])
    is_later = time >= begin
    n_days = np.unique(time[is_later].astype("datetime64[D]")).size
    n_positive = int(np.count_nonzero(labels.is_positive[is_later & ~rows.is_verdict_alone]))
    is_enough = n_days >= LEAST_DAYS and n_positive >= LEAST_POSITIVES
    return begin.astype("datetime64[us]") if is_enough else None


def matured_rows(model: PaymentModel, silence: Any = SILENCE) -> MaturedRows:
    """Return the archived rows of matured days, in order of time."""
    state = model.state_
    assert state is not None
    rows = state.rows()
    if not rows.num_rows:
        raise ValueError(
            "the history must contain its rows for a refit; it has none, as is usual for files of "
            "earlier versions; fit again on a table of all rows."
        )
    rows = _in_order_of_time(rows, model)
    times = tables.time_column(rows, str(model.time))
    held = _labels_now(state, rows, model)
    has_label = held.has_label | (times < times.max() - span_of(silence, "silence"))
    day = splits.days(times)
    is_used = ~np.isin(day, np.unique(day[~has_label]))
    if not is_used.any():
        raise ValueError(
            "a refit needs days whose labels are all known; every day of the history has payments "
            f"without a label that are more recent than {silence}; add labels, or try again later."
        )
    joined = _with_features_of_their_time(model, rows, day).filter(pa.array(is_used))
    labels = pa.array([model.classes_[0 if each else 1] for each in held.is_positive[is_used]])
    return MaturedRows(
        joined.drop_columns(
            [model.label_column] if model.label_column in joined.column_names else []
        ).append_column(model.label_column, labels),
        held.is_verdict_alone[is_used],
        int(np.count_nonzero(~is_used)),
    )


def compare_versions(
    old: PaymentModel, new: PaymentModel, is_verdict_alone: NDArray[np.bool_]
) -> VersionComparison:
    """Return how two versions rank the test rows of the new one, which neither learned from.

    The new one is taken as it was before it learned from the test rows, too: at the end of the
    days that the old one knows, or by the labels' delay before.
    """
    task = new.training_.task
    assert task.time is not None and task.cards is not None
    test = task.split.parts()["test"]
    left_out = is_verdict_alone[task.row_numbers[test] - 1]
    rows = test[~left_out]
    y, time, card = task.is_positive[rows], task.time[rows], task.cards.card[rows]
    features = task.features.take(pa.array(rows))
    rankers = old.ranker_, new.training_.chosen.ranker
    before, after = (each.suspicion(features) for each in rankers)
    day, k = splits.days(time), new.budget
    ahead = metrics.compare_card_precision(y, after, before, card, day, k)
    figures = [
        VersionFigures(
            metrics.interval("average_precision", y, each),
            k * metrics.card_precision_at_k(y, each, card, day, k),
        )
        for each in (before, after)
    ]
    return VersionComparison(
        old=figures[0],
        new=figures[1],
        average_precision=metrics.compare("average_precision", y, after, before),
        cards_found=Comparison(
            k * ahead.difference, k * ahead.low, k * ahead.high, ahead.share_above
        ),
        first_day=time.min().astype("datetime64[D]"),
        last_day=time.max().astype("datetime64[D]"),
        n_rows=rows.size,
        n_positives=int(y.sum()),
        n_verdicts_alone=int(left_out.sum()),
    )


class _LabelsNow(NamedTuple):
    """The labels that hold now, one value per row."""

    has_label: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    is_verdict_alone: NDArray[np.bool_]


def _in_order_of_time(rows: pa.Table, model: PaymentModel) -> pa.Table:
    """Return the columns that the model learns from, rows in order of time.

    Rows whose time cannot be right, which earlier versions remembered, are left out.
    """
    roles = (
        model.label_column,
        model.time,
        model.card,
        model.terminal,
        model.amount,
        model.row_id,
    )
    named = {*model.ranker_.schema_.names, *roles}
    rows = rows.select([name for name in rows.column_names if name in named])
    times = tables.time_column(rows, str(model.time))
    order = np.argsort(times, kind="stable")
    return rows.take(pa.array(order[~are_wrong(times)[order]]))


def _labels_now(state: PaymentState, rows: pa.Table, model: PaymentModel) -> _LabelsNow:
    """Return the label that holds for each row: by its id, else the one it came with."""
    own = np.full(rows.num_rows, np.nan)
    if model.label_column in rows.column_names:
        own = np.array(
            [np.nan if each is None else each for each in rows[model.label_column].to_pylist()]
        )
    has_label, is_positive = ~np.isnan(own), own == 1
    if model.row_id is None or model.row_id not in rows.column_names:
        return _LabelsNow(has_label, is_positive, np.zeros(rows.num_rows, dtype=bool))
    by_id = state.history.held_labels(rows[model.row_id])
    return _LabelsNow(
        has_label | by_id.has_label,
        np.where(by_id.has_label, by_id.is_positive, is_positive),
        ~has_label & (by_id.source == "investigator"),
    )


def _with_features_of_their_time(
    model: PaymentModel, rows: pa.Table, day: NDArray[np.int64]
) -> pa.Table:
    """Return the rows with their features as of their own time, from a new history.

    Day by day, each day's labels follow its rows; they count from when they became known.
    """
    assert model.state_ is not None and model.roles is not None
    history = new_history(model.roles, model.label_column, model.delay, model.features)
    said = _labels_by_id(model.state_.ledger)
    parts = []
    starts = [0, *(np.flatnonzero(np.diff(day)) + 1).tolist(), day.size]
    for start, stop in pairwise(starts):
        part = rows.slice(start, stop - start)
        parts.append(with_columns(part, history.batch(rows_of(history, part, (True, False)))))
        if said and model.row_id is not None:
            ids = id_texts(part[model.row_id], model.row_id).to_pylist()
            labels = [(each, *label) for each in ids for label in said.get(each, ())]
            if labels:
                found, is_positive, known, source = zip(*labels, strict=True)
                history.label(list(found), np.array(is_positive), np.array(known), list(source))
    return pa.concat_tables(parts)


def _labels_by_id(ledger: Ledger) -> dict[str, list[tuple[bool, np.datetime64, str]]]:
    """Return all labels of the ledger, in the order they were added."""
    entries = ledger.entries_after(0)
    found: dict[str, list[tuple[bool, np.datetime64, str]]] = {}
    columns = (entries.is_positive.tolist(), entries.known, entries.source_code.tolist())
    for row_id, is_positive, known, code in zip(entries.ids.to_pylist(), *columns, strict=True):
        found.setdefault(row_id, []).append((is_positive, known, SOURCES[code]))
    return found
