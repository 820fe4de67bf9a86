"""A model refitted from its own history and ledger, and compared with itself."""

import numpy as np
import pyarrow as pa
import pytest

from payments.payment_days import (
    bytes_in,
    copied,
    joined,
    listed,
    made_days,
    new_model,
    unlabelled,
)
from toprank import splits
from toprank.payments.new_version import compare_versions, matured_rows, refit
from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_state import MemoryState
from toprank.payments.roles import new_history

N_FIT = 30


@pytest.fixture(scope="module")
def days():
    return made_days(42)


@pytest.fixture(scope="module")
def fitted(days, tmp_path_factory):
    """A model of the first days."""
    folder = tmp_path_factory.mktemp("fitted")
    model = new_model().fit(joined(days[:N_FIT]))
    model.save(folder / "payments.toprank")
    model.close()
    return folder


@pytest.fixture(scope="module")
def looped(fitted, days, tmp_path_factory):
    """The model after some days of ranking, checking and claims, and the features it saw live."""
    folder = tmp_path_factory.mktemp("looped")
    path = copied(fitted, folder)
    seen = []
    with PaymentModel.load(path, for_writing=True) as model:
        for day in days[N_FIT:]:
            rows = unlabelled(day)
            seen.append(model.with_features(rows))
            alerts = model.rank(rows, 4, remember=True)
            truth = dict(zip(day["tx"].to_pylist(), day["is_fraud"].to_pylist(), strict=True))
            checked = alerts.rows["tx"].to_pylist()
            model.label(checked, [truth[each] for each in checked])
            others = [each for each in truth if each not in checked]
            n_claims = len(others) if len(seen) < 9 else 3  # the last days have not matured
            model.label(
                others[:n_claims], [truth[each] for each in others[:n_claims]], source="claim"
            )
    return folder, joined(seen)


@pytest.fixture
def path(looped, tmp_path):
    return copied(looped[0], tmp_path)


@pytest.fixture(scope="module")
def refitted(looped):
    """The model after these days, open to read, and what a refit of it gives."""
    with PaymentModel.load(looped[0] / "payments.toprank") as model:
        model.n_jobs = 1
        yield model, refit(model, silence="90d")


def days_of(table):
    return splits.days(table["paid_at"].to_numpy())


def test_only_days_all_of_whose_payments_are_known_are_used(path, days):
    with PaymentModel.load(path) as model:
        rows = matured_rows(model, "90d")
    n_used = N_FIT + 8
    assert rows.table["tx"].to_pylist() == joined(days[:n_used])["tx"].to_pylist()
    assert rows.n_immature == joined(days[n_used:]).num_rows
    used = joined(days[:n_used])["is_fraud"].to_pylist()
    assert [each == "True" or each is True for each in rows.table["is_fraud"].to_pylist()] == used


def test_silence_makes_days_mature(path, days):
    with PaymentModel.load(path) as model:
        rows = matured_rows(model, "2d")
        newest = joined(days)["paid_at"].to_numpy().max()
        n_all = joined(days).num_rows
    is_old = joined(days)["paid_at"].to_numpy() < newest - np.timedelta64(2, "D")
    assert rows.table.num_rows + rows.n_immature == n_all
    assert days_of(rows.table).max() <= days_of(joined(days).filter(pa.array(is_old))).max()
    assert rows.n_immature < joined(days[N_FIT + 8 :]).num_rows


def test_features_are_to_the_last_bit_those_of_the_live_run(path, looped, days):
    with PaymentModel.load(path) as model:
        rows = matured_rows(model, "0s").table
        names = [each for each in model.state_.history.names if each not in days[0].column_names]
    live = looped[1]
    live = live.filter(pa.array(np.isin(live["tx"].to_pylist(), rows["tx"].to_pylist())))
    again = rows.filter(pa.array(np.isin(rows["tx"].to_pylist(), live["tx"].to_pylist())))
    assert live.num_rows > 500
    for name in names:
        np.testing.assert_array_equal(again[name].to_numpy(), live[name].to_numpy(), err_msg=name)


def test_a_refit_learns_from_the_new_days_and_leaves_the_old_model_alone(path, days):
    before = bytes_in(path.parent)
    with PaymentModel.load(path) as model:
        model.n_jobs = 1
        first = listed(model.rank(unlabelled(days[-1]), 5))
        outcome = refit(model, silence="90d")
        new = outcome.model
        assert new is not model
        assert new.ranker_ is not model.ranker_
        assert new.classes_ == model.classes_
        assert new.training_.task.is_positive.size == joined(days[: N_FIT + 8]).num_rows
        assert listed(model.rank(unlabelled(days[-1]), 5)) == first
        assert len(listed(new.rank(unlabelled(days[-1]), 5))[0]) == 5
    assert bytes_in(path.parent) == before


def test_rows_known_only_by_a_verdict_are_left_out_of_the_comparison(refitted):
    model, outcome = refitted
    rows = matured_rows(model, "90d")
    ids = np.array(rows.table["tx"].to_pylist())
    held = model.state_.history.held_labels(ids)
    # four checks a day of the later days; labels that came with fit are nobody's verdict
    assert rows.is_verdict_alone.sum() == 4 * 8
    assert (held.source[rows.is_verdict_alone] == "investigator").all()
    task = outcome.model.training_.task
    test = task.split.parts()["test"]
    left_out = rows.is_verdict_alone[task.row_numbers[test] - 1]
    compared = outcome.comparison
    assert compared.n_verdicts_alone == left_out.sum() > 0
    assert compared.n_rows == test.size - left_out.sum()
    assert compared.n_positives == task.is_positive[test[~left_out]].sum()
    assert compared.first_day <= compared.last_day


def test_versions_are_compared_on_days_that_neither_learned_from(refitted, days):
    model, outcome = refitted
    newest = joined(days[:N_FIT])["paid_at"].to_numpy().max()
    assert model.learned_until == newest
    periods = outcome.model.training_.task.split.periods
    assert outcome.comparison.first_day == newest.astype("datetime64[D]") + 1
    assert periods["validation"][1] <= newest < periods["test"][0]
    # the version that is written has learned from these days, too
    assert outcome.model.learned_until == joined(days[: N_FIT + 8])["paid_at"].to_numpy().max()


def test_a_version_compared_with_itself_does_not_differ(refitted):
    model, outcome = refitted
    rows = matured_rows(model, "90d")
    new = outcome.model
    measured = PaymentModel(**new.get_params(deep=False))
    measured.ranker_ = new.training_.chosen.ranker
    same = compare_versions(measured, new, rows.is_verdict_alone)
    assert same.old == same.new
    assert same.average_precision.difference == 0
    assert (same.cards_found.low, same.cards_found.high) == (0, 0)


def test_days_without_labels_cannot_be_learned_from(path, days):
    with PaymentModel.load(path) as model:
        young = new_model()
        young.ranker_, young.classes_ = model.ranker_, model.classes_
        young.state_ = MemoryState(new_history(model.roles, "is_fraud"))
        with pytest.raises(ValueError, match=r"must contain its rows.*it has none"):
            refit(young)
        young.remember(unlabelled(days[0]))
        with pytest.raises(ValueError, match=r"every day.*without a label.*30d"):
            refit(young)


def test_a_model_without_cards_cannot_be_refitted(days):
    model = PaymentModel("is_fraud", n_estimators=5, time_limit=0.01, n_jobs=1)
    model.fit(joined(days[:5]).select(["amount", "channel", "is_fraud"]))
    with pytest.raises(ValueError, match="it was fitted without a card"):
        refit(model)


def test_labels_are_words_where_the_model_learned_from_words(days):
    table = joined(days[:N_FIT])
    words = ["bad" if each else "good" for each in table["is_fraud"].to_pylist()]
    table = table.drop_columns(["is_fraud"]).append_column("outcome", pa.array(words))
    model = new_model(label_column="outcome", positive_label="bad").fit(table)
    rows = matured_rows(model)
    assert rows.table["outcome"].to_pylist() == words
    outcome = refit(model)
    assert outcome.model.classes_ == ("bad", "good")
    assert outcome.model.training_.task.is_positive.tolist() == [each == "bad" for each in words]


def test_a_refit_of_the_same_rows_is_the_same_model(days):
    """Nothing came since: rows, labels and features are those of the fit."""
    table = joined(days[:N_FIT])
    model = new_model().fit(table)
    outcome = refit(model)
    rows = unlabelled(days[N_FIT])
    assert listed(outcome.model.rank(rows, 5)) == listed(model.rank(rows, 5))
    assert outcome.comparison is None  # on days that one has learned from, nothing is fair
