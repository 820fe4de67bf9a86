"""Features of files in a folder are those of one table in memory, whatever happens on the way."""

import os
import signal
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from payments.feature_folder.folder_payments import (
    N_DAYS,
    SETTINGS,
    check_equal,
    payments,
    rows_in,
    write_days,
    write_files,
)
from payments.killed_writers import in_a_child, steps_of
from toprank.payments.feature_folder import FeatureFolder, make_features
from toprank.payments.features import FirstTime, Night, Recent, SinceLast
from toprank.payments.history_store import StoreBusyError

SMALL = 0.001  # gigabytes: so little that the keys are split into many parts


@pytest.fixture
def source(tmp_path):
    """A folder with the payments of each day."""
    return write_days(tmp_path / "payments", payments())


def table_until(n_days):
    """Return the payments of the first days."""
    days = payments()["paid_at"].to_numpy().astype("datetime64[D]")
    return payments().filter(pa.array(days < np.unique(days)[n_days]))


@pytest.mark.parametrize("gigabytes", [4.0, SMALL])
def test_features_are_those_of_one_table_bit_for_bit(tmp_path, source, gigabytes):
    made = make_features(source, tmp_path / "features", SETTINGS, gigabytes=gigabytes)

    check_equal(made.folder, payments())
    assert [n_parts > 1 for _, n_parts in made.folder.parts] == 2 * [gigabytes == SMALL]
    assert made.n_new_days == N_DAYS
    assert made.folder.n_rows == made.n_new_rows == payments().num_rows


def test_rows_may_come_in_any_order_in_any_number_of_files(tmp_path):
    source = write_files(tmp_path / "payments", payments())
    made = make_features(source, tmp_path / "features", SETTINGS)

    # of rows of the same second, those of the first file come first
    rows = pa.concat_tables(pq.read_table(path) for path in sorted(source.iterdir()))
    order = np.argsort(rows["paid_at"].to_numpy(), kind="stable")
    check_equal(made.folder, rows.take(pa.array(order)))


def test_features_of_several_keys_go_with_one_of_their_columns(tmp_path, source):
    features = (
        FirstTime(("card", "terminal")),
        SinceLast(("terminal", "channel")),
        Recent("count", "card", "1d"),
        Night(22, 6),
    )
    settings = replace(SETTINGS, features=features)
    made = make_features(source, tmp_path / "features", settings, gigabytes=SMALL)

    check_equal(made.folder, payments(), settings)
    assert {column for column, _ in made.folder.parts} == {"card", "terminal"}


def test_a_day_that_comes_twice_counts_once_by_its_ids(tmp_path, source):
    write_days(source / "copy", table_until(2))
    made = make_features(source, tmp_path / "features", SETTINGS)

    check_equal(made.folder, payments())
    assert made.folder.n_repeated == table_until(2).num_rows


def test_without_ids_a_copy_of_a_file_is_refused_by_its_name(tmp_path, source):
    write_days(source / "copy", table_until(1))
    settings = replace(SETTINGS, roles=SETTINGS.roles._replace(row_id=None))

    with pytest.raises(ValueError, match=r"copy.*parquet has the same rows as .*row_id"):
        make_features(source, tmp_path / "features", settings)


def test_new_files_add_their_days(tmp_path):
    source = write_days(tmp_path / "payments", table_until(8))
    target = tmp_path / "features"
    make_features(source, target, SETTINGS, gigabytes=SMALL)
    write_days(source, payments())
    made = make_features(source, target, SETTINGS)

    check_equal(made.folder, payments())
    assert made.n_new_days == N_DAYS - 8
    again = make_features(source, target, SETTINGS)
    assert again.n_new_days == again.n_new_rows == 0


def test_a_file_that_changed_after_it_was_read_is_refused(tmp_path, source):
    target = tmp_path / "features"
    make_features(source, target, SETTINGS)
    changed = sorted(source.iterdir())[2]
    pq.write_table(pq.read_table(changed).slice(1), changed)

    with pytest.raises(ValueError, match=rf"{changed.name} has changed"):
        make_features(source, target, SETTINGS)


def test_a_new_file_of_a_day_that_is_done_is_refused(tmp_path, source):
    target = tmp_path / "features"
    make_features(source, target, SETTINGS)
    pq.write_table(payments().slice(0, 5), source / "late.parquet")

    with pytest.raises(ValueError, match="new files must have later days"):
        make_features(source, target, SETTINGS)
    check_equal(FeatureFolder.open(target), payments())


def test_other_settings_are_refused_for_the_same_folder(tmp_path, source):
    make_features(source, tmp_path / "features", SETTINGS)

    with pytest.raises(ValueError, match="delay is '3d' and was '2d'"):
        make_features(source, tmp_path / "features", replace(SETTINGS, delay="3d"))


class Ended(BaseException):
    """Ends a run, as Ctrl-C does."""


def test_a_run_that_is_ended_at_any_step_is_resumed(tmp_path, source):
    target, seen = tmp_path / "features", []
    for number in range(200):

        def stop_at(what, done, total, number=number):
            seen.append((what, done))
            if len(seen) == 7 * (number + 1):
                raise Ended

        seen.clear()
        try:
            made = make_features(
                source, target, SETTINGS, gigabytes=SMALL, snapshot_seconds=0, progress=stop_at
            )
        except Ended:
            continue
        break

    assert number > 3
    assert made.was_resumed
    check_equal(made.folder, payments())


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_step_is_resumed(tmp_path):
    source = write_days(tmp_path / "payments", table_until(5))

    def make(name):
        make_features(source, tmp_path / name, SETTINGS, snapshot_seconds=0)

    n_steps = steps_of(lambda: make("whole"))
    for kill_at in range(1, n_steps + 1, 7):
        name = f"killed-{kill_at}"
        assert in_a_child(lambda name=name: make(name), kill_at)[0] == -signal.SIGKILL
        make(name)
        check_equal(FeatureFolder.open(tmp_path / name), table_until(5))


def test_two_runs_at_once_are_refused(tmp_path, source):
    target = tmp_path / "features"

    def second(what, done, total):
        with pytest.raises(StoreBusyError, match=rf"is being written by process {os.getpid()}"):
            make_features(source, target, SETTINGS)

    make_features(source, target, SETTINGS, progress=second)


def test_files_in_the_folder_to_write_are_refused(tmp_path, source):
    with pytest.raises(ValueError, match="is in the folder to write"):
        make_features(source, source, SETTINGS)


def test_a_column_with_the_name_of_a_feature_is_refused(tmp_path, source):
    settings = replace(SETTINGS, features=(Recent("count", "card", "1d"),))
    table = payments().append_column("card_count_1d", payments()["amount"])
    pq.write_table(table, tmp_path / "odd.parquet")

    with pytest.raises(ValueError, match="card_count_1d"):
        make_features(tmp_path / "odd.parquet", tmp_path / "features", settings)
    assert not (tmp_path / "features" / "features.json").exists()


def test_a_column_that_only_some_files_have_is_left_out_with_a_warning(tmp_path, source):
    first = min(source.iterdir())
    pq.write_table(pq.read_table(first).drop_columns(["channel"]), first)

    with pytest.warns(UserWarning, match=r"'channel' of .*parquet is left out"):
        made = make_features(source, tmp_path / "features", SETTINGS)
    assert "channel" not in rows_in(made.folder).column_names
    check_equal(made.folder, payments())


def test_rows_of_a_wrong_year_are_set_aside(tmp_path, source):
    odd = payments().slice(7, 1)
    odd = odd.set_column(0, "paid_at", pa.array([np.datetime64("2099-01-01", "us")]))
    odd = odd.set_column(odd.column_names.index("tx"), "tx", pa.array(["odd"]))
    pq.write_table(odd.cast(payments().schema), source / "odd.parquet")

    with pytest.warns(UserWarning, match="2099-01-01"):
        made = make_features(source, tmp_path / "features", SETTINGS)
    check_equal(made.folder, payments())
