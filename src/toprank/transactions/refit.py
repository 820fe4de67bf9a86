"""A new version of a payment model: learned from all that is known by now, compared with the old.

Rows come from the archive of the history, and labels are those that hold by now. A day is used
once it has matured: each of its payments has a label, or is so old that silence counts as genuine.
So the days that only the latest verdicts speak of are left out whole, not just their other rows.

In the comparison, rows known by a verdict alone are left out as well. They were checked because
the current version listed their cards: counting them would credit that version with frauds nobody
would have reported otherwise, and charge the new one for cards it was never checked on. What card
holders claim and what nobody speaks of does not depend on any list.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import metrics, splits, tables
from toprank.metrics import Comparison, Interval
from toprank.splits.moments import span_of
from toprank.training import Progress
from toprank.transactions.payment_model import PaymentModel

SILENCE = "30d"
"""Payments that nobody spoke of for so long count as genuine."""


class VersionFigures(NamedTuple):
    """One version on the days of the comparison."""

    average_precision: Interval
    cards_found: float | None  # per day, in the budget's checks; None without cards


class VersionComparison(NamedTuple):
    """Two versions on the same rows: how far `new` is ahead of `old`."""

    old: VersionFigures
    new: VersionFigures
    average_precision: Comparison
    cards_found: Comparison | None
    first_day: np.datetime64
    last_day: np.datetime64
    n_rows: int
    n_positives: int
    n_verdicts_alone: int  # rows left out


class Refitted(NamedTuple):
    """The new version, and how it compares with the old one."""

    model: PaymentModel
    comparison: VersionComparison


class MaturedRows(NamedTuple):
    """The rows of matured days, with the features they had at their time and their labels."""

    table: pa.Table
    is_verdict_alone: NDArray[np.bool_]
    n_immature: int


def refit(
    model: PaymentModel, *, silence: Any = SILENCE, progress: Progress | None = None
) -> Refitted:
    """Return a model that learned from all that history and ledger know, and the comparison.

    The given model stays as it is. Both share one history.
    """
    if model.state_ is None:
        raise ValueError(
            "the model must know cards by their history to be refitted from it; it was fitted "
            "without card; fit it again on a table of all rows."
        )
    rows = matured_rows(model, silence)
    new = PaymentModel(**model.get_params(deep=False))
    new.state_ = model.state_
    new.fit_features(rows.table, progress=progress)
    return Refitted(new, compare_versions(model, new, rows.is_verdict_alone))


def matured_rows(model: PaymentModel, silence: Any = SILENCE) -> MaturedRows:
    """Return the archived rows of matured days, in order of time."""
    state = model.state_
    assert state is not None
    rows = state.rows()
    times = tables.time_column(rows, str(model.time))
    order = np.argsort(times, kind="stable")
    rows, times = rows.take(pa.array(order)), times[order]
    held = state.labels_of(rows, model.label, model.classes_)
    is_silent = times < state.history.until - span_of(silence, "silence")
    has_label = held.has_label | is_silent
    day = splits.days(times)
    immature = np.unique(day[~has_label])
    is_used = ~np.isin(day, immature)
    if not is_used.any():
        raise ValueError(
            f"no day of the history has matured: each has payments without a label that are "
            f"younger than {silence}; add labels, or wait."
        )
    joined = _as_they_were(model, state, rows)
    positive, negative = model.classes_
    names = pa.array([negative, positive])
    column = names.take(pa.array(held.is_positive.astype(np.int64)))
    place = joined.column_names.index(model.label) if model.label in joined.column_names else None
    if place is None:
        joined = joined.append_column(model.label, column)
    else:
        joined = joined.set_column(place, model.label, column)
    return MaturedRows(
        joined.filter(pa.array(is_used)),
        held.is_verdict_alone[is_used],
        int(np.count_nonzero(~is_used)),
    )


def compare_versions(
    old: PaymentModel, new: PaymentModel, is_verdict_alone: NDArray[np.bool_]
) -> VersionComparison:
    """Return how two versions do on the test rows of the new one, which neither learned from."""
    task = new.training_.task
    test = task.split.parts()["test"]
    left_out = is_verdict_alone[task.row_numbers[test] - 1]
    rows = test[~left_out]
    y = task.is_positive[rows]
    features = task.features.take(pa.array(rows))
    scores = [each.ranker_.suspicion(features) for each in (old, new)]
    day, cards = splits.days(task.time[rows]), None if task.cards is None else task.cards.card[rows]
    found: list[float | None] = [None, None]
    ahead = None
    if cards is not None:
        precision = [metrics.card_precision_at_k(y, each, cards, day, new.budget) for each in scores]
        found = [new.budget * each for each in precision]
        ahead = metrics.compare_card_precision(y, scores[1], scores[0], cards, day, new.budget)
        ahead = Comparison(*(new.budget * each for each in ahead[:3]), ahead.share_above)
    figures = [
        VersionFigures(metrics.interval("average_precision", y, each), count)
        for each, count in zip(scores, found, strict=True)
    ]
    return VersionComparison(
        *figures,
        metrics.compare("average_precision", y, scores[1], scores[0]),
        ahead,
        task.time[rows].min().astype("datetime64[D]"),
        task.time[rows].max().astype("datetime64[D]"),
        rows.size,
        int(y.sum()),
        int(left_out.sum()),
    )
