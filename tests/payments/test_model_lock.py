"""Two processes that replace model files: one waits, or gets a sentence; no version is lost."""

import os
import shutil
import threading
import time

import numpy as np
import pytest

from payments.payment_days import (
    N_LATER,
    copied,
    joined,
    made_days,
    new_model,
    unlabelled,
    unsaved,
)
from toprank import BoostedRanker, files
from toprank.payments.history_store import StoreBusyError
from toprank.payments.history_store.writer_lock import WriterLock
from toprank.payments.model_files import check_free, write_model, write_next_version
from toprank.payments.model_lock import without_version, writing_model
from toprank.payments.payment_model import PaymentModel
from toprank.payments.versions import other_versions, promote, rollback, version_path


@pytest.fixture(scope="module")
def days():
    return made_days(30)


@pytest.fixture(scope="module")
def saved(days, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    model = new_model().fit(joined(days[:-N_LATER]))
    model.save(folder / "payments.toprank")
    model.close()
    return folder


@pytest.fixture
def path(saved, tmp_path):
    return copied(saved, tmp_path)


def test_a_second_writer_of_model_files_gets_a_sentence_that_names_the_first(path):
    ranker = BoostedRanker(n_estimators=2).fit(np.arange(60.0)[:, np.newaxis], np.arange(60) > 50)
    files.save(ranker, version_path(path, 2), {"version": 2})
    busy = pytest.raises(StoreBusyError, match=f"is being written by process {os.getpid()} ")
    with writing_model(path), busy, writing_model(version_path(path, 2), wait=0):
        pass
    promote(path)
    assert rollback(path) == (1, 2)
    assert list(path.parent.glob(".*")) == []  # no lock is left


def test_a_fit_over_a_model_is_refused_while_another_process_adds_to_its_history(path, days):
    new = unsaved(path, days)
    before = path.read_bytes()
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(unlabelled(days[-N_LATER]))
        with pytest.raises(StoreBusyError, match=f"written by process {os.getpid()}"):
            write_model(new, path, wait=0)
    assert path.read_bytes() == before
    assert len(list(path.with_suffix(".history").iterdir())) == 1
    new.save(path)  # it can be tried again
    new.close()
    assert path.read_bytes() != before


def test_fit_finds_out_before_the_training_that_a_model_is_in_use(path):
    check_free(path)
    check_free(path.with_name("new.toprank"))
    busy = pytest.raises(StoreBusyError, match="nothing was changed")
    with PaymentModel.load(path, for_writing=True), busy:
        check_free(path, wait=0)


def test_two_refits_at_once_get_a_number_each(path):
    with PaymentModel.load(path) as model:
        threads = [threading.Thread(target=write_next_version, args=(model, path)) for _ in "ab"]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert other_versions(path) == [2, 3]


def test_a_promotion_does_not_wait_for_who_adds_to_the_history(path):
    with PaymentModel.load(path, for_writing=True) as model:
        write_next_version(model, path)
        assert promote(path) == (2, 1)


def test_the_history_of_the_replaced_model_is_kept_also_after_a_killed_fit(
    path, days, monkeypatch
):
    with PaymentModel.load(path) as model:
        old = model.state_.history.id
    first, second = unsaved(path, days), unsaved(path, days)
    monkeypatch.setattr(files, "save", None)  # the model comes after its history
    with pytest.raises(TypeError):
        first.save(path)
    monkeypatch.undo()
    first.close()
    assert len(list(path.with_suffix(".history").iterdir())) == 2
    second.save(path)
    second.close()
    found = {each.name for each in path.with_suffix(".history").iterdir()}
    assert found == {old, second.state_.history.id}


def test_a_history_that_no_model_names_is_removed_unless_it_is_in_use(path, days):
    other = path.with_suffix(".history") / ("0" * 32)
    with PaymentModel.load(path) as model:
        shutil.copytree(model.state_.folder, other)
    lock = WriterLock(other / "lock", other, 0)
    for is_held in (True, False):
        new = unsaved(path, days)
        new.save(path)
        new.close()
        assert other.exists() == is_held
        if is_held:
            lock.release()


def test_a_lock_whose_file_was_removed_while_waiting_is_taken_anew(tmp_path):
    """Three processes: the first removes the file for which the second waits."""
    path = tmp_path / "lock"
    first = WriterLock(path, tmp_path, 0, is_removed=True)
    held = []
    second = threading.Thread(
        target=lambda: held.append(WriterLock(path, tmp_path, 10, is_removed=True))
    )
    second.start()
    time.sleep(0.1)
    first.release()
    second.join()
    with pytest.raises(StoreBusyError):
        WriterLock(path, tmp_path, 0, is_removed=True)
    held[0].release()
    assert not path.exists()


def test_versions_share_the_lock_of_their_model(tmp_path):
    assert without_version(tmp_path / "a.b.v12.toprank") == tmp_path / "a.b.toprank"
    assert without_version(tmp_path / "v2.toprank") == tmp_path / "v2.toprank"
