"""Lists that were made, and how what became known of them moves the next promise."""

import stat

import numpy as np
import pytest

from payments.payment_days import copied, joined, made_days, new_model, unlabelled
from toprank.payments.issued_lists import FILE
from toprank.payments.payment_model import PaymentModel

N_FIT = 30


@pytest.fixture(scope="module")
def days():
    return made_days(36)


@pytest.fixture(scope="module")
def saved(days, tmp_path_factory):
    """The folder of a model that is saved; nobody may write there."""
    folder = tmp_path_factory.mktemp("saved")
    model = new_model().fit(joined(days[:N_FIT]))
    model.save(folder / "payments.toprank")
    model.close()
    return folder


@pytest.fixture
def path(saved, tmp_path):
    return copied(saved, tmp_path)


def used(path, days, truth_of, n_labelled=None):
    """The promise after some days of lists that were all checked, with these verdicts."""
    with PaymentModel.load(path, for_writing=True) as model:
        for day in days[N_FIT:]:
            checked = model.rank(unlabelled(day), 6, remember=True).rows["tx"].to_pylist()
            checked = checked[:n_labelled]
            model.label(checked, [truth_of(each) for each in checked])
        return model.promise_now(), model.promise_


def test_lists_that_held_less_than_promised_lower_the_next_promise(path, days):
    now, fitted = used(path, days, lambda _: False)
    assert now.drift.level < fitted.drift.level - 0.1
    assert now.drift.since > 0
    assert now.until == fitted.until


def test_lists_that_held_more_than_promised_raise_the_next_promise(path, days):
    now, fitted = used(path, days, lambda _: True)
    assert now.drift.level > fitted.drift.level + 0.1


def test_a_list_counts_once_all_of_its_rows_are_known(path, days):
    now, fitted = used(path, days, lambda _: False, n_labelled=5)
    assert now.drift.level == pytest.approx(fitted.drift.level, abs=0.01)


def test_a_list_that_is_made_twice_or_cut_off_counts_once_or_not_at_all(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        for _ in range(2):
            model.rank(unlabelled(days[N_FIT]), 6, remember=True)
        file = model.state_.folder / FILE
        assert file.read_text().count('"until"') == 1
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with file.open("a") as end:
            end.write('{"until": "20')
        assert model.promise_now() == model.promise_
        ids = model.rank(unlabelled(days[N_FIT + 1]), 6, remember=True).rows["tx"].to_pylist()
        model.label(ids, [False] * len(ids))
        assert model.promise_now() != model.promise_


def test_lists_that_are_not_remembered_leave_no_trace(path, days):
    with PaymentModel.load(path) as model:
        model.rank(unlabelled(days[N_FIT]), 6)
        assert not (model.state_.folder / FILE).exists()
        assert model.promise_now() == model.promise_


def test_a_model_in_memory_promises_what_it_was_fitted_with(days):
    model = new_model().fit(joined(days[:N_FIT]))
    model.rank(unlabelled(days[N_FIT]), 6, remember=True)
    assert model.promise_now() is model.promise_
    assert np.isfinite(model.promise_.likely).all()
