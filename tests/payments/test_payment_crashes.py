"""A killed `rank --remember` or `fit`, two processes at once: nothing twice, nothing lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.running import one_sentence, run_main, start
from payments.payment_days import (
    N_LATER,
    bytes_in,
    copied,
    joined,
    listed,
    made_days,
    new_model,
    unlabelled,
)
from toprank import files
from toprank.payments.history_store import HistoryStore
from toprank.payments.payment_model import PaymentModel


class Killed(BaseException):
    """Simulates the end of the process: no code of ours may catch it and repair anything."""


class After:
    """Stops after a number of steps on disk, and counts them."""

    def __init__(self, n_steps=-1):
        self.left, self.names = n_steps, []

    def __call__(self, name):
        self.names.append(name)
        self.left -= 1
        if self.left == 0:
            raise Killed(name)


@pytest.fixture(scope="module")
def days():
    return made_days()


@pytest.fixture(
    scope="module", params=["with ids", pytest.param("without ids", marks=pytest.mark.slow)]
)
def saved(request, days, tmp_path_factory):
    """The folder of a saved model, the table of a day and whether it has ids."""
    has_ids = request.param == "with ids"
    known, today = joined(days[:-N_LATER]), unlabelled(days[-N_LATER])
    folder = tmp_path_factory.mktemp("saved")
    if not has_ids:
        known, today = known.drop_columns(["tx"]), today.drop_columns(["tx"])
    model = new_model(row_id="tx" if has_ids else None).fit(known)
    model.save(folder / "payments.toprank")
    model.close()
    return folder, today, has_ids


def parts(today):
    return [today.slice(0, 10), today.slice(10, 10), today.slice(20)]


def store_of(path):
    (folder,) = path.with_suffix(".history").iterdir()
    return folder


def opened(path, on_step):
    """The model with a store that calls `on_step` after each step on disk."""
    model = PaymentModel.load(path)
    model.state_.close()
    model.state_ = HistoryStore.open(store_of(path), mode="write", on_step=on_step)
    return model


def kill(model):
    """Release the lock as the end of a process does, without closing the store."""
    os.close(model.state_._lock._descriptor)
    model.state_.ledger.close()


def whole(saved, path):
    """The list, and all that is kept, of a run that nobody killed."""
    with PaymentModel.load(path, for_writing=True) as model:
        alerts = listed(model.rank(parts(saved[1]), 5, remember=True))
        return alerts, kept_in(model)


def kept_in(model):
    history = model.state_.history
    arrays = {name: each.tobytes() for name, each in history._to_saved().arrays.items()}
    return history.n_remembered, str(history.until), arrays, model.state_.rows().to_pylist()


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_remember_killed_after_any_step_is_there_completely_or_not_at_all(
    saved, tmp_path, every
):
    expected_list, expected = whole(saved, copied(saved[0], tmp_path / "whole"))
    with PaymentModel.load(saved[0] / "payments.toprank") as model:
        before = kept_in(model)
    count = After()
    counted = opened(copied(saved[0], tmp_path / "count"), count)
    counted.remember(parts(saved[1]))
    counted.close()
    assert count.names == ["rows written", "log written"] * 3 + ["log written", "rows finished"]

    for n_steps in range(1, len(count.names) + 1, every):
        path = copied(saved[0], tmp_path / f"kill-{n_steps}")
        model = opened(path, After(n_steps))
        with pytest.raises(Killed):
            model.rank(parts(saved[1]), 5, remember=True)
        kill(model)
        check_after_a_kill(saved, path, before, expected, expected_list)


def check_after_a_kill(saved, path, before, expected, expected_list):
    """All or none is there; sent again, it is all there, once."""
    with PaymentModel.load(path, for_writing=True) as again:
        found = kept_in(again)
        assert found in (before, expected)
        if found == before:
            assert listed(again.rank(parts(saved[1]), 5, remember=True)) == expected_list
        elif saved[2]:
            with pytest.warns(UserWarning, match="have the id of an earlier row"):
                assert listed(again.rank(parts(saved[1]), 5, remember=True)) == expected_list
        else:
            with pytest.raises(ValueError, match="were probably remembered before"):
                again.rank(parts(saved[1]), 5, remember=True)
    with PaymentModel.load(path) as at_last:
        n_remembered, until, _, rows = kept_in(at_last)
        assert (n_remembered, until, rows) == (expected[0], expected[1], expected[3])


def test_part_of_a_log_without_its_end_is_ignored(saved, tmp_path):
    """As kill -9 leaves it: no code of ours ran after the last part was written."""
    path = copied(saved[0], tmp_path / "torn")
    _, expected = whole(saved, copied(saved[0], tmp_path / "whole"))
    with PaymentModel.load(path) as model:
        before = kept_in(model)
    log = store_of(path) / "log-000001"
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(parts(saved[1]))
    raw = log.read_bytes()
    log.write_bytes(raw[:-4])  # the record that ends the parts is torn
    with PaymentModel.load(path) as reader:
        assert kept_in(reader) == before
    with PaymentModel.load(path, for_writing=True) as model:
        assert kept_in(model) == before
        model.remember(parts(saved[1]))
        assert kept_in(model) == expected


KILLED_IN_THE_MIDDLE = """
import os, signal, sys
from toprank.cli import paths, main
from toprank.payments.history_store.store_writer import StoreWriter
paths._BATCH_ROWS = 10
n_calls, remember = 0, StoreWriter.remember_table
def remember_and_die(self, rows, is_part):
    global n_calls
    n_calls += 1
    found = remember(self, rows, is_part)
    if n_calls == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
StoreWriter.remember_table = remember_and_die
main()
"""


@pytest.mark.slow
def test_the_command_killed_in_the_middle_of_a_file_can_be_run_again(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = copied(saved[0], tmp_path)
    _, expected = whole(saved, copied(saved[0], tmp_path / "whole"))
    pq.write_table(saved[1], "today.parquet")
    command = ("rank", "payments.toprank", "today.parquet", "--remember", "-o", "alerts.csv")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_IN_THE_MIDDLE, *command], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not Path("alerts.csv").exists()

    again = run_main(*command)
    assert again.exit_code == 0, again.stderr
    assert "have the id of an earlier row" not in again.stderr
    assert Path("alerts.csv").exists()
    with PaymentModel.load(path) as model:
        n_remembered, until, _, rows = kept_in(model)
    assert (n_remembered, until, rows) == (expected[0], expected[1], expected[3])


def test_a_second_process_is_refused_with_a_sentence_and_can_be_run_later(
    saved, days, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = copied(saved[0], tmp_path)
    own = saved[1].column_names
    tomorrow = days[-2].select(own)
    pq.write_table(saved[1], "today.parquet")
    pq.write_table(tomorrow, "tomorrow.parquet")
    command = ("rank", "payments.toprank", "tomorrow.parquet", "--remember")
    with PaymentModel.load(path, for_writing=True) as holder:
        refused = run_main(*command)
        sentence = one_sentence(refused)
        assert f"is being written by process {os.getpid()}" in sentence
        assert "nothing was changed" in sentence
        assert run_main(*command[:-1]).exit_code == 0  # readers are not blocked
        holder.remember(saved[1])
    assert run_main(*command).exit_code == 0
    with PaymentModel.load(path) as model:
        n_known = model.state_.rows().num_rows
    with PaymentModel.load(saved[0] / "payments.toprank") as model:
        n_before = model.state_.rows().num_rows
    assert n_known == n_before + saved[1].num_rows + tomorrow.num_rows


@pytest.mark.slow
def test_two_programs_at_once_lose_nothing(saved, days, tmp_path, monkeypatch):
    """The second waits a while for the first; if it is refused, it can be run again."""
    if not saved[2]:
        pytest.skip("once is enough")
    monkeypatch.chdir(tmp_path)
    path = copied(saved[0], tmp_path)
    pq.write_table(saved[1], "first.parquet")
    pq.write_table(unlabelled(days[-2]), "second.parquet")
    commands = {
        name: ("rank", "payments.toprank", f"{name}.parquet", "--remember")
        for name in ("first", "second")
    }
    programs = {name: start(*command) for name, command in commands.items()}
    for name, program in programs.items():
        _, said = program.communicate(timeout=120)
        assert program.returncode in (0, 1), said
        if program.returncode:
            assert "is being written by process" in said
            assert run_main(*commands[name]).exit_code == 0
    with PaymentModel.load(path) as model:
        ids = model.state_.rows()["tx"].to_pylist()
    expected = [*saved[1]["tx"].to_pylist(), *days[-2]["tx"].to_pylist()]
    assert sorted(ids[-len(expected) :]) == expected
    assert len(set(ids)) == len(ids)


@pytest.mark.slow
def test_remember_and_label_at_once_are_both_kept(saved, days, tmp_path, monkeypatch):
    if not saved[2]:
        pytest.skip("labels need ids")
    monkeypatch.chdir(tmp_path)
    path = copied(saved[0], tmp_path)
    pq.write_table(saved[1], "today.parquet")
    pq.write_table(days[-N_LATER - 1].select(["tx", "is_fraud"]), "claims.parquet")
    programs = [
        start("rank", "payments.toprank", "today.parquet", "--remember"),
        start("label", "payments.toprank", "claims.parquet"),
    ]
    said = [program.communicate(timeout=120)[1] for program in programs]
    assert [program.returncode for program in programs] == [0, 0], said
    with PaymentModel.load(path) as model:
        assert model.state_.rows()["tx"].to_pylist()[-1] == saved[1]["tx"][-1].as_py()
        assert len(model.state_.ledger) == days[-N_LATER - 1].num_rows


def test_a_fit_killed_between_history_and_model_leaves_the_old_pair(
    saved, days, tmp_path, monkeypatch
):
    path = copied(saved[0], tmp_path)
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(saved[1])
        before = listed(model.rank(days[-2].select(saved[1].column_names), 5))
    known = joined(days[:-N_LATER])
    changed = known if saved[2] else known.drop_columns(["tx"])
    new = new_model(row_id="tx" if saved[2] else None).fit(changed)

    def die(*_):
        raise Killed

    monkeypatch.setattr(files, "save", die)
    with pytest.raises(Killed):
        new.save(path)
    monkeypatch.undo()
    new.close()
    assert len(list(path.with_suffix(".history").iterdir())) == 2
    with PaymentModel.load(path) as model:
        assert listed(model.rank(days[-2].select(saved[1].column_names), 5)) == before

    again = new_model(row_id="tx" if saved[2] else None).fit(changed)
    again.save(path)
    again.close()
    with PaymentModel.load(path) as model:
        assert model.state_.history.id == again.state_.history.id


def test_a_history_that_is_half_written_is_ignored(saved, tmp_path):
    path = copied(saved[0], tmp_path)
    before = bytes_in(path.parent)
    new = new_model(row_id=None).fit(_without_ids(saved))
    stop = After(3)
    with pytest.raises(Killed):
        HistoryStore.create(
            path.with_suffix(".history") / new.state_.history.id,
            new.state_.history,
            new.state_.rows(),
            on_step=stop,
        )
    assert bytes_in(path.parent) == before
    new.save(path)
    new.close()
    with PaymentModel.load(path) as model:
        assert model.state_.history.id == new.state_.history.id


def _without_ids(saved):
    with PaymentModel.load(saved[0] / "payments.toprank") as model:
        rows = model.state_.rows()
    return rows.drop_columns(["tx"] if "tx" in rows.column_names else [])


def test_a_killed_label_is_there_once_when_given_again(saved, tmp_path):
    if not saved[2]:
        pytest.skip("labels need ids")
    for n_steps in (1, 2):
        path = copied(saved[0], tmp_path / str(n_steps))
        model = opened(path, After(n_steps))
        ids = model.state_.rows()["tx"].to_pylist()[-2:]
        with pytest.raises(Killed):
            model.label(ids, [True, False])
        kill(model)
        with PaymentModel.load(path, for_writing=True) as again:
            assert again.state_.history.held_labels(ids).is_positive.tolist() == [True, False]
            assert again.label(ids, [True, False])[:3] == (0, 0, 2)
            assert len(again.state_.ledger) == 2


@pytest.mark.slow
def test_a_killed_process_does_not_block_others(saved, tmp_path):
    path = copied(saved[0], tmp_path)
    code = "import sys, time; from toprank.payments.payment_model import PaymentModel; "
    code += "PaymentModel.load(sys.argv[1], for_writing=True); print('open', flush=True); "
    code += "time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"open\n"
    holder.kill()
    holder.communicate()
    began = time.monotonic()
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(saved[1])
    assert time.monotonic() - began < 30
