"""What once broke a desk, each as small as it can be."""

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa

from live import desks
from toprank.live.desk import Desk, archive_of
from toprank.live.desk_backup import back_up
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.log_replay import replay
from toprank.live.messages import BusyError, ConflictError, LabelGiven
from toprank.live.snapshots import LogPlace
from toprank.live.store import label_table, payment_log
from toprank.live.upkeep import keep_up
from toprank.payments.history_store import StoreBusyError

DAY = 86_400_000_000


@pytest.fixture
def live(desk):
    found = desks.live(desk)
    yield found
    found.close()


def test_a_payment_that_is_refused_does_not_move_the_clock(live, later):
    live.decide(later[:5])
    before = live.now()
    far = replace(
        later[0], paid_at=later[0].paid_at + 399 * DAY, body=later[0].body | {"amount": 1}
    )
    (answer,) = live.decide([far])
    assert isinstance(answer, ConflictError)
    assert live.now() == before


def test_one_payment_of_a_wrong_year_does_not_move_the_clock_also_after_a_restart(
    desk, live, later
):
    live.decide(later[:5])
    before = live.now()
    far = replace(later[6], paid_at=later[6].paid_at + 390 * DAY)
    live.decide([far])
    assert live.now() == before
    live.decide(later[7:9])
    assert before <= live.now() < before + DAY
    assert desks.live(desk).now() == live.now()


def test_after_a_failed_commit_no_label_is_known_that_is_not_in_the_database(
    desk, live, later, monkeypatch
):
    engine, add = DecisionEngine(live), label_table.add

    def failing(connection, rows):
        add(connection, rows)
        raise sa.exc.OperationalError("insert", {}, OSError("disk full"))

    async def work():
        await engine.decide(later[:50])
        with monkeypatch.context() as patch:
            patch.setattr(label_table, "add", failing)
            with pytest.raises(BusyError):
                await engine.label([LabelGiven(later[0].id, True, None, "claim")], "key:claims")
        await engine.decide(later[50:200])

    desks.run(engine, work)
    assert live.history.place.label_number == 0
    assert replay(desk).differences == []


def test_an_engine_that_has_ended_is_not_ready(live, later):
    engine = DecisionEngine(live)

    async def work():
        await engine.start()
        engine._task.cancel()
        await asyncio.sleep(0.01)
        assert not engine.is_ready
        with pytest.raises(BusyError):
            await engine.decide(later[:1])

    asyncio.run(work())


def test_scores_that_cannot_be_written_one_by_one_either_do_not_end_the_engine(
    desk, live, later, monkeypatch
):
    engine = DecisionEngine(live)

    async def work():
        with monkeypatch.context() as patch:
            patch.setattr(live._scorer, "score", _raise(RuntimeError("odd")))
            patch.setattr(live, "score_one_by_one", _raise(sa.exc.OperationalError("", {}, None)))
            await engine.decide(later[:3])
            await asyncio.sleep(0.1)
            assert engine.is_ready
        await engine.decide(later[3:6])

    desks.run(engine, work)
    assert live.n_unscored == 0


def _raise(error):
    def raising(*_):
        raise error

    return raising


def test_a_payment_whose_ratio_is_infinite_is_scored(live, later):
    own = [each for each in later if each.card == later[0].card][:2]
    tiny, huge = (
        replace(each, body=each.body | {"amount": amount})
        for each, amount in zip(own, (1e-300, 2.0**53), strict=True)
    )
    new = [replace(each, card="new", body=each.body | {"card": "new"}) for each in (tiny, huge)]
    live.decide(new)
    assert live.score_some(2) == 2


def test_a_writer_that_holds_the_database_gets_payments_a_503_and_loses_none(desk, live, later):
    engine = DecisionEngine(live)

    async def work():
        with desk.database.writing():
            with pytest.raises(BusyError):
                await engine.decide(later[:3])
            with pytest.raises(BusyError):
                await engine.label([LabelGiven(later[0].id, True, None, "claim")], "key:claims")
        assert engine.is_ready
        return await engine.decide(later[:3])

    assert [each.is_repeated for each in desks.run(engine, work)] == [False] * 3


def test_a_breaker_that_cannot_be_written_yet_does_not_undo_an_answer(live, later, monkeypatch):
    live.rules.tripped = ["any"]
    monkeypatch.setattr(live.rules, "pause_tripped", _raise(BusyError(1.0)))
    (answer,) = live.decide(later[:1])
    assert answer.decision == "accept" and live.payment(later[0].id) is not None
    assert live.rules.tripped  # for the next turn


def test_a_backup_and_upkeep_do_not_run_at_the_same_time(desk, later, tmp_path, monkeypatch):
    monkeypatch.setattr("toprank.live.desk._LONGEST_UPKEEP", 0.05)
    with desk.tidying():
        with pytest.raises(StoreBusyError):
            keep_up(desk)
        with pytest.raises(StoreBusyError):
            back_up(desk, tmp_path / "copy", "person:anna")
    assert not (tmp_path / "copy").exists()


def test_a_folder_whose_log_does_not_continue_its_snapshot_is_refused(desk, live, later):
    live.decide(later[:10])
    with desk.database.writing() as connection:
        connection.execute(
            payment_log.payments.delete().where(payment_log.payments.c.position < 4)
        )
    with pytest.raises(ValueError, match="not whole"):
        desks.live(desk)


def test_a_purge_that_was_interrupted_is_finished_by_the_next(
    model_file, later, tmp_path, monkeypatch
):
    settings = {"keep": "50d", "purge_hour": 0}
    with desks.new_desk(tmp_path / "desk", model_file, **settings) as desk:
        live = desks.live(desk)
        live.decide(later[:20])
        after = [
            replace(each, id=f"{each.id}-x", paid_at=each.paid_at + day * DAY,
                    body=each.body | {"tx": f"{each.id}-x"})
            for day, each in enumerate(later[20:90])
        ]  # fmt: skip
        live.decide(after)
        while live.n_unscored:
            live.score_some(64)
        live.purge_if_due()
        live.close()
        with monkeypatch.context() as patch:
            patch.setattr("toprank.live.retention._drop_labels", _raise(RuntimeError("killed")))
            with pytest.raises(RuntimeError):
                keep_up(desk)
        assert len(desk.snapshots.all()) > 1
        keep_up(desk)
        assert len(desk.snapshots.all()) == 1


def test_a_change_of_rules_while_a_desk_is_loaded_is_noticed(desk, monkeypatch):
    live = desks.live(desk)
    seen = live._seen
    with desk.database.writing() as connection:
        connection.execute(sa.text("CREATE TABLE other (x INTEGER)"))
    assert live._n_changed() != seen


def test_errors_of_the_database_do_not_repeat_cards(desk):
    with pytest.raises(sa.exc.IntegrityError) as caught, desk.database.writing() as connection:
        row = {"alert": 1, "position": 1}
        for _ in range(2):
            connection.execute(
                sa.text("INSERT INTO alert_payments VALUES (:alert, :position)"), row
            )
    assert "parameters hidden" in str(caught.value)


@pytest.mark.parametrize("name", ["what?", "50%41", "a b#c"])
def test_a_folder_may_have_any_name(model_file, tmp_path, name):
    with desks.new_desk(tmp_path / name, model_file) as desk:
        assert [each.name for each in tmp_path.iterdir()] == [name]
        assert desks.live(desk).history.place == LogPlace()
        assert archive_of(desk, desk.load_newest()[0]).files()
    with Desk.open(tmp_path / name):
        pass


def test_an_alert_that_nothing_happens_to_expires(model_file, later, tmp_path):
    settings = {"alert_from": 0.0, "silence": "5d", "purge_hour": 0}
    with desks.new_desk(tmp_path / "desk", model_file, **settings) as desk:
        live = desks.live(desk)
        live.decide(later[:10])
        live.score_some(10)
        assert live.n_open()
        rest = [
            replace(each, paid_at=each.paid_at + day * DAY)
            for day, each in enumerate(later[10:20])
        ]
        live.decide(rest)
        live.purge_if_due()
        assert live.n_open() == 0
        assert {each["state"] for each in live.alerts("closed", 50, None)} == {"closed"}


def test_alerts_name_their_payments(model_file, later, tmp_path):
    with desks.new_desk(tmp_path / "desk", model_file, alert_from=0.0) as desk:
        live = desks.live(desk)
        own = [each for each in later if each.card == later[0].card][:3]
        live.decide(own)
        live.score_some(3)
        (alert,) = live.alerts("open", 5, None)
    assert alert["payments"] == [each.id for each in reversed(own)]


def test_a_desk_that_would_forget_all_its_payments_is_refused(model_file, tmp_path):
    with pytest.raises(ValueError, match="--clock payments"):
        desks.new_desk(tmp_path / "desk", model_file, clock="wall", keep="1d")


def test_payments_are_kept_for_as_long_as_features_look_back(model_file, tmp_path):
    with pytest.raises(ValueError, match=r"keep must be '37d'.*got '10d'"):
        desks.new_desk(tmp_path / "desk", model_file, keep="10d")
