"""One wrong date: it is set aside, and nothing else changes."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from payments.payment_days import N_LATER, copied, joined, listed, made_days, new_model, unlabelled
from toprank.data.tables import TableError, TableWarning
from toprank.payments.far_times import DAY, are_wrong, bulk_of, check_file, check_one
from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_stream import PaymentStream

NOW = np.datetime64("2025-06-30T12:00", "us")
WRONG = datetime(2099, 1, 1)


def at(*days, start="2025-01-01"):
    """Times, so many days after the start."""
    return np.datetime64(start, "us") + (np.array(days) * 86_400e6).astype("timedelta64[us]")


def hourly(n_rows=240, start="2025-01-01"):
    return at(*(np.arange(n_rows) / 24), start=start)


@pytest.mark.parametrize("days_after", [31, 400, 27_000])
def test_a_row_far_after_the_bulk_is_wrong_before_the_clock_or_after_it(days_after):
    times = np.append(hourly(), hourly()[-1] + days_after * DAY)
    assert are_wrong(times, now=NOW).nonzero()[0].tolist() == [240]


def test_rows_after_the_bulk_by_less_than_a_month_are_right():
    assert not are_wrong(np.append(hourly(), hourly()[-1] + 29 * DAY), now=NOW).any()


def test_long_pauses_in_a_sparse_table_are_usual():
    assert not are_wrong(at(*range(0, 2000, 80)), now=np.datetime64("2100-01-01", "us")).any()


def test_a_row_after_the_clock_is_wrong_if_the_bulk_is_not():
    times = hourly(start="2025-06-20")  # up to 12 hours before
    assert are_wrong(np.append(times, NOW + 2 * DAY), now=NOW).sum() == 1
    assert not are_wrong(np.append(times, NOW + DAY), now=NOW).any()


def test_a_world_ahead_of_the_clock_is_compared_with_itself():
    times = hourly(start="2031-01-01")
    assert not are_wrong(times, now=NOW).any()
    assert not are_wrong(times, at(0, start="2030-12-31")[0], NOW).any()
    assert are_wrong(np.append(times, times[-1] + 31 * DAY), now=NOW).sum() == 1


def test_a_single_row_is_compared_with_the_history_and_the_clock():
    until = NOW - 100 * DAY
    assert not are_wrong(np.array([NOW]), until, NOW).any()  # after a long pause
    assert are_wrong(np.array([NOW + 2 * DAY]), NOW - DAY, NOW).tolist() == [False]
    assert are_wrong(at(0, 1, 2, 27_000), until, NOW).tolist() == [False] * 3 + [True]


def test_rows_of_the_time_that_the_history_has_are_right_whatever_their_file():
    late = np.append(hourly(), NOW)
    assert not are_wrong(late, NOW, NOW).any()


def test_no_rows_have_no_wrong_ones():
    assert not are_wrong(np.empty(0, "datetime64[us]"), NOW, NOW).size


def test_the_bulk_ends_before_the_last_row_of_a_hundred():
    assert bulk_of(at(*range(100))).end == at(98)[0]


def test_a_file_in_the_future_as_a_whole_is_refused():
    until = np.datetime64("2025-01-01", "us")
    with pytest.raises(TableError, match="'paid_at' in the future, such as 2099-01-01"):
        check_file(at(0, 0, 1, start="2099-01-01"), "paid_at", until)
    ahead = np.datetime64("2098-12-30", "us")
    check_file(at(0, 0, 1, start="2099-01-01"), "paid_at", ahead)  # which is ahead as well
    check_file(at(0, 0, 1, start="2099-01-01"), "paid_at", None)


def test_one_payment_in_the_future_is_refused():
    until = np.datetime64("2025-01-01", "us")
    with pytest.raises(TableError, match="paid_at must not be in the future; got 2099-01-01"):
        check_one(np.datetime64("2099-01-01", "us"), "paid_at", until)
    check_one(np.datetime64("2026-01-01", "us"), "paid_at", until)
    check_one(np.datetime64("2099-01-01", "us"), "paid_at", np.datetime64("2098-12-30", "us"))


# With a model


@pytest.fixture(scope="module")
def days():
    return made_days()


@pytest.fixture(scope="module")
def saved(days, tmp_path_factory):
    """The folder of a model that learned from a table with one wrong date, and its notes."""
    folder = tmp_path_factory.mktemp("saved")
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model = new_model().fit(wrong(joined(days[:-N_LATER]), row=100))
    numbers = model.training_.task.row_numbers
    model.save(folder / "payments.toprank")
    model.close()
    return folder, [str(each.message) for each in notes], numbers


def wrong(table, row, time=WRONG):
    rows = table.to_pylist()
    rows[row]["paid_at"] = time
    return pa.Table.from_pylist(rows, table.schema)


def test_fit_keeps_the_history_and_names_the_row_that_is_set_aside(saved, days):
    folder, notes, numbers = saved
    assert any("1 row (101) set aside: 'paid_at' is 2099-01-01 00:00:00" in each for each in notes)
    known = joined(days[:-N_LATER])
    assert 101 not in numbers
    assert numbers.max() == known.num_rows
    with PaymentModel.load(folder / "payments.toprank") as model:
        history = model.state_.history
        assert history.until == np.datetime64(known["paid_at"][-1].as_py())
        assert history.until - history.since < 9 * DAY
        assert model.state_.n_rows == known.num_rows - 1
        assert model.learned_until < np.datetime64("2019-01-01")


def test_remembering_a_wrong_date_changes_nothing_else(saved, days, tmp_path):
    today = unlabelled(days[-N_LATER])
    with PaymentModel.load(copied(saved[0], tmp_path / "a"), for_writing=True) as model:
        right = pa.concat_tables([today.slice(0, 3), today.slice(4)])
        expected = listed(model.rank(right, 5, remember=True))
        until, n_rows = model.state_.history.until, model.state_.n_rows
    with PaymentModel.load(copied(saved[0], tmp_path / "b"), for_writing=True) as model:
        with pytest.warns(TableWarning, match=r"1 row \(4\) set aside: 'paid_at' is 2099-01-01"):
            found = listed(model.rank(wrong(today, row=3), 5, remember=True))
        assert (model.state_.history.until, model.state_.n_rows) == (until, n_rows)
    assert found[1:] == expected[1:]
    assert [row - (row > 4) for row in found[0]] == expected[0]  # numbers as in the file


def test_rank_without_remembering_lists_the_same(saved, days):
    with PaymentModel.load(saved[0] / "payments.toprank") as model:
        today = unlabelled(days[-N_LATER])
        with pytest.warns(TableWarning, match="set aside"):
            alerts = model.rank(wrong(today, row=3), today.num_rows)
        assert 4 not in alerts.row_numbers


def test_a_file_of_the_future_is_not_remembered(saved, days, tmp_path):
    today = unlabelled(days[-N_LATER])
    ahead = [each + timedelta(days=30_000) for each in today["paid_at"].to_pylist()]
    today = today.set_column(
        today.column_names.index("paid_at"), "paid_at", pa.array(ahead, pa.timestamp("us"))
    )
    with PaymentModel.load(copied(saved[0], tmp_path), for_writing=True) as model:
        before = model.state_.history.until, model.state_.n_rows
        with pytest.raises(TableError, match="nothing was remembered"):
            model.rank(today, 5, remember=True)
        assert (model.state_.history.until, model.state_.n_rows) == before


@pytest.mark.parametrize("call", ["score", "take_in", "stream"])
def test_one_payment_of_a_wrong_date_is_scored_at_most(saved, days, tmp_path, call):
    payment = unlabelled(days[-N_LATER]).to_pylist()[0] | {"paid_at": WRONG}
    with PaymentModel.load(copied(saved[0], tmp_path), for_writing=True) as model:
        until = model.state_.history.until
        assert model.score(payment).suspicion  # nothing is remembered of it
        take_in = {
            "score": lambda: model.score(payment, remember=True),
            "take_in": lambda: model.take_in(payment),
            "stream": lambda: PaymentStream(model).score(payment, "x"),
        }[call]
        with pytest.raises(ValueError, match="paid_at must not be in the future"):
            take_in()
        assert model.state_.history.until == until


def test_a_world_ahead_of_the_clock_is_learned_with_a_warning(days):
    ahead = joined(days)
    times = [each.replace(year=2061) for each in ahead["paid_at"].to_pylist()]
    place = ahead.column_names.index("paid_at")
    ahead = ahead.set_column(place, "paid_at", pa.array(times, pa.timestamp("us")))
    with pytest.warns(TableWarning, match="later than this computer's clock"):
        model = new_model().fit(ahead)
    assert model.state_.rows().num_rows == ahead.num_rows
