"""What is said when rows do not join a history where it ends."""

import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.tables import TableWarning
from toprank.payments.features import History, Recent
from toprank.payments.join_watch import JoinWatch
from toprank.payments.known_rows import n_known_rows
from toprank.payments.payment_state import MemoryState

START = np.datetime64("2025-03-01T00:00:00", "us")


def history(row_id=None):
    """A history that goes from the first to the tenth of March, a payment each day."""
    found = History([Recent("count", "card", "1d")], time="at", row_id=row_id)
    found.batch(rows(range(10)))
    return found


def rows(days, first_id=None):
    days = np.asarray(list(days), dtype=float)
    ids = days if first_id is None else np.arange(days.size) + first_id
    hours = (days * 24).astype(int)
    return pa.table(
        {
            "at": START + hours.astype("timedelta64[h]"),
            "card": ["A"] * days.size,
            "tx": [f"p{each:g}" for each in ids],
        }
    )


def said(past, *tables, remember=False):
    """All that the watch says of tables, one after the other."""
    watch = JoinWatch(past)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for table in tables:
            watch.see(table)
            past.batch(table)
        watch.end(is_remembered=remember)
    assert all(each.category is TableWarning for each in found)
    return [str(each.message) for each in found]


@pytest.mark.parametrize("row_id", [None, "tx"])
@pytest.mark.parametrize("first", [9.5, 10])
def test_rows_that_follow_cause_no_warning(row_id, first):
    assert said(history(row_id), rows([first, 10.5]), rows([11]), remember=True) == []


def test_an_empty_history_takes_any_rows():
    empty = History([Recent("count", "card", "1d")], time="at")
    assert said(empty, rows([0, 40]), remember=True) == []


def test_tables_without_rows_are_skipped():
    assert said(history(), rows([]), rows([9.5])) == []


def test_a_gap_of_more_than_a_day_is_reported_once_with_its_length():
    (sentence,) = said(history(), rows([14]), rows([20]))
    assert "the history ends 5 days before" in sentence


def test_tables_out_of_order_are_reported_once():
    (sentence,) = said(history(), rows([12]), rows([11.5]), rows([11]), rows([10])[:0])[1:]
    assert "should be in order of 'at'" in sentence
    (sentence,) = said(history(), rows([10]), rows([9.9]), rows([9.8]), rows([11]))
    assert "should be in order of 'at'" in sentence


def test_rows_sent_again_are_counted_by_their_ids_and_never_refused():
    (sentence,) = said(history("tx"), rows(range(10)), remember=True)
    assert sentence == "10 rows have the id of an earlier row in 'tx'; they count once."


def test_late_rows_with_new_ids_cause_no_warning():
    assert said(history("tx"), rows([8.5, 8.6], first_id=900), remember=True) == []


def test_rows_older_than_what_is_kept_are_counted():
    past = history("tx")
    past.purge(START + np.timedelta64(5, "D"))
    (sentence,) = said(past, rows([1, 2, 10], first_id=900))
    assert "2 rows are older than what the history keeps" in sentence


def test_without_ids_rows_that_are_mostly_old_are_not_remembered():
    with pytest.raises(ValueError, match=r"must be after 2025-03-10.* 2 of 3 are not"):
        said(history(), rows([8, 9, 10]), remember=True)
    (sentence,) = said(history(), rows([8, 9, 10]))
    assert "2 rows are not after 2025-03-10" in sentence


def test_without_ids_a_few_late_rows_are_remembered_with_a_warning():
    (sentence,) = said(history(), rows([9, 10, 11]), remember=True)
    assert "1 rows are not after" in sentence
    assert "remembered as late ones" in sentence


def test_earlier_warnings_are_not_repeated():
    past = history("tx")
    past.batch(rows(range(3)))
    past.purge(START + np.timedelta64(5, "D"))
    past.batch(rows([1], first_id=800))
    assert said(past, rows([10])) == []


def test_without_ids_a_row_that_the_history_has_is_refused_and_a_late_one_is_not():
    state = MemoryState(History([Recent("count", "card", "1d")], time="at"))
    with state.remembering() as remember:
        remember(rows(range(10)))

    def watch(table):
        found = JoinWatch(state.history, partial(n_known_rows, state))
        found.see(table)
        found.end(is_remembered=True)

    with pytest.raises(ValueError, match="2 of 8 are, equal in at and card"):
        watch(rows([8, 9, *range(10, 16)]))
    with pytest.warns(TableWarning, match="1 rows are not after .* as late ones"):
        watch(rows([8.5, *range(10, 16)]))
