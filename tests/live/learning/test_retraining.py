from dataclasses import replace

import numpy as np
import pytest

from live import databases, desks
from toprank.live.desk import Desk, archive_of
from toprank.live.learning import retraining
from toprank.live.learning.model_comparison import ModelComparison
from toprank.live.learning.retraining import is_training, retrain
from toprank.live.learning.training_rows import comparison_weights, training_rows
from toprank.live.messages import LabelGiven
from toprank.live.store import (
    alert_table,
    audit_chain,
    label_table,
    model_table,
    payment_log,
    random_check_table,
)
from toprank.live.store.payment_log import payments
from toprank.live.store.random_check_table import RandomDraw
from toprank.payments.history_store.writer_lock import StoreBusyError, WriterLock
from toprank.payments.payment_model import PaymentModel


def models_of(desk):
    with desk.database.reading() as connection:
        return {each.number: each for each in model_table.newest(connection)}


def rows_of(desk, without=()):
    model, _ = desk.load_newest()
    with model:
        with desk.database.reading() as connection:
            now = desk.now(connection)
        return training_rows(desk, model, now, without)


def test_a_challenger_says_what_it_learned_from_and_how_it_compares(desk):
    found = models_of(desk)[2]
    assert (found.state, found.who, found.file) == ("challenger", "person:anna", "0002.toprank")
    compared = ModelComparison.from_json(found.figures)
    assert (compared.against, compared.capacity) == (1, 5)
    assert compared.first_day > models_of(desk)[1].last_day
    assert found.first_day < compared.first_day
    assert compared.last_day < found.last_day  # recent days are learned from, and not compared on
    assert compared.n_frauds >= 5 and compared.n_left_out == 0
    for figure in (compared.cards, compared.adjusted_ap):
        assert figure.difference == pytest.approx(figure.challenger - figure.champion)
        assert figure.low <= figure.difference <= figure.high
    assert found.frauds["claim"] >= 5 and found.frauds["before the desk"] > 10
    assert desk.path_of(found.file).stat().st_mode & 0o777 == 0o600
    assert models_of(desk)[1].state == "champion"


def test_training_rows_have_the_features_that_the_live_model_saw(untrained):
    rows = rows_of(untrained)
    model, _ = untrained.load_newest()
    with untrained.database.reading() as connection:
        seen = {row.id: row.feature_values for row in payment_log.after(connection, 0)}
    names = model.state_.history.names
    features = np.column_stack([rows.table[name].to_numpy() for name in names])
    ids = rows.table["tx"].to_pylist()
    logged = [place for place, each in enumerate(ids) if each in seen]
    assert len(logged) > 1_000
    np.testing.assert_array_equal(
        features[logged], np.stack([seen[ids[place]] for place in logged])
    )


def test_days_that_have_not_matured_are_left_out_as_a_whole(untrained):
    rows = rows_of(untrained)
    now = desks.live(untrained).now()
    days = np.unique(rows.day)
    assert days.max() == now // 86_400_000_000 - 3  # two days of silence, and the day it begins in
    assert rows.recent.day.size > 100 and rows.recent.day.min() == days.max() + 1


def test_labels_that_hold_now_are_learned_with_their_source(untrained):
    before = rows_of(untrained)
    live = desks.live(untrained)
    on_last = np.flatnonzero(before.day == before.day.max())
    ids = [before.table["tx"][int(place)].as_py() for place in on_last[:3]]
    given = [LabelGiven(each, True, None, "investigator") for each in ids]
    live.label(given, "person:anna")
    live.label([LabelGiven(ids[0], True, None, "claim")], "key:claims")
    live.label([LabelGiven(ids[2], False, None, "investigator")], "person:ben")
    rows = rows_of(untrained)
    places = [rows.table["tx"].to_pylist().index(each) for each in ids]
    assert rows.is_fraud[places].tolist() == [True, True, False]
    assert rows.frauds["investigator"] == 2
    # the first was reported as well: it would have been known without the list
    assert comparison_weights(rows)[places].tolist() == [1.0, 0.0, 0.0]


def test_recent_payments_without_a_label_are_genuine_and_known_frauds_make_up_for_the_others(
    untrained,
):
    live = desks.live(untrained)
    before = rows_of(untrained)
    ids = before.recent.table["tx"].to_pylist()
    checked, drawn, claimed = ids[:3]
    claim_in(live, before, [3_600, 9 * 86_400] * 20)
    live.label([LabelGiven(each, True, None, "investigator") for each in (checked, drawn)], "anna")
    live.label([LabelGiven(claimed, True, None, "claim")], "key:claims")
    with untrained.database.writing() as connection:
        (row,) = [each for each in payment_log.after(connection, 0) if each.id == drawn]
        alert = alert_table.next_number(connection) - 1  # any that is there
        alert_table.add_payments(connection, [(alert, row.position)])
        draw = RandomDraw(1, 0, 0, n_cards=50, n_drawn=1, seed="")
        random_check_table.add(connection, draw, [alert])
    recent = rows_of(untrained).recent
    found = dict(zip(recent.table["tx"].to_pylist(), recent.weight, strict=True))
    delays = np.sort(claim_delays(untrained))
    ages = {row: live.now() - paid for row, paid in zip(ids, paid_at(recent), strict=True)}
    claimed_by_now = {each: np.mean(delays <= age) for each, age in ages.items()}

    assert found[checked] == 1
    assert 1.2 < found[claimed] < 10
    assert found[claimed] == pytest.approx(1 / claimed_by_now[claimed])
    known = 0.02 + 0.98 * claimed_by_now[drawn]
    assert found[drawn] == pytest.approx(1 / known)
    is_fraud = dict(zip(recent.table["tx"].to_pylist(), recent.is_fraud, strict=True))
    assert is_fraud[checked] and is_fraud[drawn] and is_fraud[claimed]
    others = [each for each in ids if not is_fraud[each]]
    assert len(others) > 100 and {found[each] for each in others} == {1.0}


def claim_in(live, rows, seconds):
    """Have genuine payments of matured days claimed, each so many seconds after it was paid."""
    places = np.flatnonzero(~rows.is_fraud & (rows.source == "silence"))[: len(seconds)]
    known = paid_at(rows)[places] + np.array(seconds) * 1_000_000
    ids = [rows.table["tx"][int(place)].as_py() for place in places]
    given = zip(ids, known.tolist(), strict=True)
    live.label([LabelGiven(each, True, at, "claim") for each, at in given], "key:claims")


def paid_at(rows):
    return rows.table["paid_at"].to_numpy().astype("datetime64[us]").view(np.int64)


def claim_delays(desk):
    """The time from payment to claim of the frauds of matured days, one by one."""
    rows = rows_of(desk)
    with desk.database.reading() as connection:
        known = {e.id: e.known_at for e in label_table.after(connection, 0) if e.source == "claim"}
    ids = rows.table["tx"].to_pylist()
    return [
        known[each] - paid
        for each, paid, source in zip(ids, paid_at(rows), rows.source, strict=True)
        if source == "claim"
    ]


def test_a_fraud_of_today_changes_the_next_challenger(learned, untrained, last_payments):
    live = desks.live(untrained)
    recent = rows_of(untrained).recent
    ids = recent.table["tx"].to_pylist()[-40:]
    live.label([LabelGiven(each, True, None, "investigator") for each in ids], "person:anna")
    retrain(untrained, "person:anna", n_jobs=1)
    payload, scores = desks.table_of(last_payments), []
    for each in (learned / "desk", untrained.folder):
        with Desk.open(each) as desk, desk.load_newest(model=desk.path_of("0002.toprank"))[0] as m:
            scores.append(m.ranker_.suspicion(m.with_features(payload)))
    assert not np.allclose(*scores)
    compared = [models_of_folder(each)[2].figures for each in (learned / "desk", untrained.folder)]
    assert compared[0]["cards"] == compared[1]["cards"]  # of matured days alone


def models_of_folder(folder):
    with Desk.open(folder) as desk:
        return models_of(desk)


def verdicts_by(live, ids, people):
    for number, each in enumerate(ids):
        given = [LabelGiven(each, False, None, "investigator")]
        live.label(given, f"person:{people[number % len(people)]}")


def asked_for(desk):
    """Return the trainings in the audit."""
    with desk.database.reading() as connection:
        return [e for e in audit_chain.entries(connection) if e.action == "model.retrain"]


def weights_of_the_end(desk, monkeypatch):
    """The weights of matured rows with which a challenger learns in the end; None for all 1."""
    seen = []
    learn_also = PaymentModel.learn_also

    def watched(self, table, weight, weight_before, **options):
        seen.append(weight_before)
        return learn_also(self, table, weight, weight_before, **options)

    monkeypatch.setattr(PaymentModel, "learn_also", watched)
    retrain(desk, "person:anna", n_jobs=1)
    return seen[-1]


def test_one_person_of_a_team_is_at_most_half_of_the_verdicts_that_count(untrained, monkeypatch):
    live, rows = desks.live(untrained), rows_of(untrained)
    ids = rows.table["tx"].to_pylist()[-60:]
    verdicts_by(live, ids[:50], ["mallory"])
    verdicts_by(live, ids[50:], ["a", "b", "c", "d"])
    weights = weights_of_the_end(untrained, monkeypatch)
    rows = rows_of(untrained)
    is_hers = rows.who == "person:mallory"
    assert is_hers.sum() == 50 and (rows.who != "").sum() == 60
    assert weights[is_hers].sum() == pytest.approx(10)
    assert (weights[~is_hers] == 1).all()


def test_where_few_give_verdicts_all_of_them_count(untrained, monkeypatch):
    live, rows = desks.live(untrained), rows_of(untrained)
    verdicts_by(live, rows.table["tx"].to_pylist()[-30:], ["anna"] * 9 + ["ben"])
    assert (weights_of_the_end(untrained, monkeypatch) == 1).all()


def test_verdicts_of_a_person_who_is_left_out_are_as_if_they_had_not_been_given(untrained):
    before = rows_of(untrained)
    frauds = np.flatnonzero(before.is_fraud & (before.source == "claim"))
    ids = [before.table["tx"][int(place)].as_py() for place in frauds]
    live = desks.live(untrained)
    verdicts_by(live, ids, ["mallory"])
    assert rows_of(untrained).is_fraud.sum() < before.is_fraud.sum()
    after = rows_of(untrained, without=["person:mallory"])
    assert (after.is_fraud == before.is_fraud).all()
    assert (after.source == before.source).all() and (after.who == "").all()
    retrain(untrained, "person:anna", n_jobs=1, without=["person:mallory"])
    assert asked_for(untrained)[-1].details == {"without": ["person:mallory"]}


def test_verdicts_of_people_in_quarantine_are_left_out_of_every_training(untrained, monkeypatch):
    live = desks.live(untrained)
    verdicts_by(live, rows_of(untrained).table["tx"].to_pylist()[-20:], ["mallory", "eve"])
    settings = replace(untrained.settings, quarantine="mallory, eve")
    monkeypatch.setattr(untrained, "settings", settings)
    retrain(untrained, "job:nightly retrain", n_jobs=1)
    assert asked_for(untrained)[-1].details == {"without": ["person:eve", "person:mallory"]}
    with untrained.database.reading() as connection:
        model = model_table.newest_of(connection, "job:nightly retrain")
    assert model is not None and "investigator" not in model.frauds


def test_to_leave_out_somebody_who_never_said_anything_is_refused(untrained):
    verdicts_by(
        desks.live(untrained), rows_of(untrained).table["tx"].to_pylist()[-1:], ["mallory"]
    )
    with pytest.raises(ValueError, match=r"'malory' .*did you mean 'mallory'"):
        retrain(untrained, "person:anna", without=["person:malory"])


def test_what_a_rule_denied_and_nobody_labelled_is_left_out(untrained):
    before = rows_of(untrained)
    ids = before.table["tx"].to_pylist()
    denied, labelled = ids[-1], ids[-2]
    live = desks.live(untrained)
    live.label([LabelGiven(labelled, True, None, "claim")], "key:claims")
    with untrained.database.writing() as connection:
        connection.execute(
            payments.update().where(payments.c.id.in_([denied, labelled])).values(decision="block")
        )
    after = rows_of(untrained).table["tx"].to_pylist()
    assert denied not in after and labelled in after
    assert len(after) == len(ids) - 1


def test_a_challenger_is_the_same_bit_for_bit_from_the_archive_and_from_the_log(
    learned, desk, last_payments, tmp_path
):
    with Desk.open(databases.copy(learned / "untrained", tmp_path / "other")) as other:
        model, _ = other.load_newest()
        with model, other.database.reading() as connection:
            assert archive_of(other, model).add_from(connection, is_complete=True) > 1_000
        retrain(other, "person:anna", n_jobs=1)
        assert models_of(other)[2].figures == models_of(desk)[2].figures
        payload = desks.table_of(last_payments)
        scores = []
        for each in (other, desk):
            with each.load_newest(model=each.path_of("0002.toprank"))[0] as model:
                scores.append(model.ranker_.suspicion(model.with_features(payload)))
        np.testing.assert_array_equal(*scores)


def test_a_desk_without_matured_days_says_so_and_keeps_the_reason(model_file, tmp_path, later):
    with desks.new_desk(tmp_path / "desk", model_file, keep="400d") as desk:
        for path in (desk.folder / "archive").iterdir():
            path.unlink()
        live = desks.live(desk)
        live.decide(later[:20])
        live.score_some(20)
        with pytest.raises(ValueError, match="labels are all known"):
            retrain(desk, "person:anna", n_jobs=1)
        failed = models_of(desk)[2]
        assert failed.state == "failed" and "labels are all known" in failed.why
        with desk.database.reading() as connection:
            assert [e.action for e in audit_chain.entries(connection)][-1] == "model.fail"
        assert not desk.path_of(failed.file).exists()


def test_a_second_training_at_the_same_time_is_refused_with_a_sentence(untrained):
    lock = WriterLock(untrained.folder / retraining.LOCK, untrained.folder, 0.0)
    assert is_training(untrained.folder)
    with pytest.raises(StoreBusyError, match=r"is being trained by process \d+"):
        retrain(untrained, "person:ben")
    lock.release()
    assert not is_training(untrained.folder)
    assert set(models_of(untrained)) == {1}


def test_a_training_that_was_killed_before_its_last_step_is_finished_without_training_again(
    desk, monkeypatch
):
    finished = models_of(desk)[2]
    with desk.database.writing() as connection:
        empty = {"first_day": None, "last_day": None, "n_rows": None, "trained_at": None}
        model_table.change_state(connection, finished, "training", **empty)
    monkeypatch.setattr(retraining, "training_rows", None)
    again = retrain(desk, "person:ben")
    assert again._replace(trained_at=0) == finished._replace(trained_at=0, who="person:ben")
    assert models_of(desk)[2].state == "challenger"


def test_a_training_that_was_killed_in_the_middle_is_done_again_under_its_number(
    untrained, monkeypatch
):
    class Killed(BaseException):
        """What no handler of errors sees, as after a signal."""

    def killed(*_, **__):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(retraining, "training_rows", killed)
        with pytest.raises(Killed):
            retrain(untrained, "person:anna")
    assert models_of(untrained)[2].state == "training"
    assert untrained.model_path.name == "0001.toprank"
    assert retrain(untrained, "person:anna", n_jobs=1).number == 2
    assert models_of(untrained)[2].state == "challenger"
