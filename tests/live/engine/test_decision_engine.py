import asyncio
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa

from live import desks
from toprank.live.engine.decision_engine import AT_ONCE, DecisionEngine
from toprank.live.messages import BusyError, ConflictError, LabelGiven
from toprank.live.snapshots import LogPlace
from toprank.live.store import audit_chain, payment_log

REQUIRED = {"tx", "paid_at", "card", "terminal", "amount"}


@pytest.fixture
def live(desk):
    found = desks.live(desk)
    yield found
    found.close()


def ids_in_log(desk):
    with desk.database.reading() as connection:
        return [row.id for row in payment_log.after(connection, 0)]


def test_every_payment_is_answered_logged_and_scored_as_in_a_table(desk, live, made, later):
    engine = DecisionEngine(live)

    async def work():
        one_by_one = [await engine.decide([each]) for each in later[:20]]
        waiting = [engine.decide([each]) for each in later[20:200]]
        return [*one_by_one, *await asyncio.gather(*waiting), await engine.decide(later[200:500])]

    answers = [each for some in desks.run(engine, work) for each in some]
    assert [each.id for each in answers] == [each.id for each in later[:500]] == ids_in_log(desk)
    assert {each.decision for each in answers} == {"accept"}
    with desk.load_model(LogPlace(0, 0)) as model:
        suspicion = model.ranker_.suspicion(model.with_features(made[1].slice(0, 500)))
    with desk.database.reading() as connection:
        stored = connection.execute(
            sa.select(payment_log.scores.c.suspicion).order_by(payment_log.scores.c.position)
        )
        np.testing.assert_array_equal([row.suspicion for row in stored], suspicion)


def test_a_payment_that_is_sent_again_gets_the_answer_of_then_and_counts_once(desk, live, later):
    engine = DecisionEngine(live)
    first, again, in_between = desks.run(
        engine,
        lambda: asyncio.gather(
            engine.decide(later[:3]), engine.decide(later[:3]), engine.decide([later[1], later[1]])
        ),
    )
    assert [each.is_repeated for each in first] == [False] * 3
    assert again == [each._replace(is_repeated=True) for each in first]
    assert in_between == [again[1], again[1]]
    assert len(ids_in_log(desk)) == 3 == live.history.position


def test_an_id_with_other_content_is_a_conflict_and_changes_nothing(desk, live, later):
    engine = DecisionEngine(live)
    other = replace(later[0], body=later[0].body | {"amount": 1.0})

    async def work():
        await engine.decide([later[0]])
        with pytest.raises(ConflictError, match=later[0].id):
            await engine.decide([other])

    desks.run(engine, work)
    assert len(ids_in_log(desk)) == 1


def test_single_payments_do_not_wait_for_a_file_to_end(live, later):
    engine = DecisionEngine(live)
    ended = []

    async def timed(name, payments):
        await engine.decide(payments)
        ended.append(name)

    n_large = 5 * AT_ONCE
    desks.run(
        engine,
        lambda: asyncio.gather(timed("file", later[:n_large]), timed("one", later[n_large:][:1])),
    )
    assert ended == ["one", "file"]


def turns_of(live, monkeypatch, method):
    """Return a list that gets the number of payments of each turn."""
    turns, original = [], getattr(live, method)

    def counting(*args):
        found = original(*args)
        turns.append(found if isinstance(found, int) else len(args[0]))
        return found

    monkeypatch.setattr(live, method, counting)
    return turns


def test_payments_that_come_one_after_the_other_are_scored_together(live, later, monkeypatch):
    engine, turns = DecisionEngine(live), turns_of(live, monkeypatch, "score_some")

    async def work():
        for each in later[:5]:
            await engine.decide([each])
        given_up = time.monotonic() + 5
        while live.n_unscored and time.monotonic() < given_up:
            await asyncio.sleep(0.005)

    desks.run(engine, work)
    assert sum(turns) == 5 and len(turns) <= 2


def test_a_file_has_short_turns_while_others_send_payments(live, later, monkeypatch):
    engine, turns = DecisionEngine(live), turns_of(live, monkeypatch, "decide")
    n_large = 3 * AT_ONCE

    async def work():
        await engine.decide(later[:n_large])
        await engine.decide(later[n_large : n_large + 1])
        await engine.decide(later[n_large + 1 :][:n_large])

    desks.run(engine, work)
    assert turns == [n_large, 1, AT_ONCE, AT_ONCE, AT_ONCE]


def test_too_many_waiting_payments_are_refused_with_a_time_to_come_again(
    model_file, tmp_path, later
):
    with desks.new_desk(tmp_path / "small", model_file, most_waiting=10) as desk:
        engine = DecisionEngine(desks.live(desk))

        async def work():
            sent = [engine.decide([each]) for each in later[:15]]
            return await asyncio.gather(*sent, return_exceptions=True)

        found = desks.run(engine, work)
        refused = [each for each in found if isinstance(each, BusyError)]
        assert len(refused) == 5 and refused[0].retry_after > 0
        assert len(ids_in_log(desk)) == 10


def test_an_engine_that_is_not_running_refuses_payments(live, later):
    with pytest.raises(BusyError):
        asyncio.run(DecisionEngine(live).decide(later[:1]))


def test_after_a_failed_commit_nothing_is_remembered_that_is_not_in_the_log(
    desk, live, later, monkeypatch
):
    engine = DecisionEngine(live)
    add, is_full = payment_log.add, [True]

    def failing(connection, rows):
        add(connection, rows)
        if is_full[0]:
            raise sa.exc.OperationalError("insert", {}, OSError("disk full"))

    monkeypatch.setattr(payment_log, "add", failing)

    async def work():
        with pytest.raises(BusyError):
            await engine.decide(later[:5])
        is_full[0] = False
        return await engine.decide(later[:5])

    answers = desks.run(engine, work)
    assert [each.is_repeated for each in answers] == [False] * 5
    with desk.database.reading() as connection:
        logged = np.stack([each.feature_values for each in payment_log.after(connection, 0)])
    fresh = desks.live(desk)
    assert fresh.history.position == live.history.position == 5
    unbroken = desk.load_model(LogPlace(0, 0))
    expected = [list(unbroken.state_.history.one(live.history._row(each)).values())
                for each in later[:5]]  # fmt: skip
    np.testing.assert_array_equal(logged, expected)


def test_a_payment_without_optional_fields_is_scored_as_a_row_with_missing_values(
    desk, live, made, later
):
    bare = [
        replace(each, body={name: value for name, value in each.body.items() if name in REQUIRED})
        for each in later[:5]
    ]
    live.decide(bare)
    live.score_some(5)
    table = made[1].slice(0, 5)
    nothing = pa.nulls(5, pa.string())
    for name in ("channel", "country"):
        table = table.set_column(table.column_names.index(name), name, nothing)
    with desk.load_model(LogPlace()) as model:
        expected = model.ranker_.suspicion(model.with_features(table))
    with desk.database.reading() as connection:
        found = connection.execute(sa.select(payment_log.scores.c.suspicion)).scalars().all()
    np.testing.assert_array_equal(found, expected)


def test_a_payment_that_the_model_fails_on_does_not_keep_the_others_waiting(
    desk, live, later, monkeypatch
):
    score, failing = live._scorer.score, later[3].id

    def fails(payments, features):
        if any(each.id == failing for each in payments):
            raise RuntimeError("made to fail")
        return score(payments, features)

    monkeypatch.setattr(live._scorer, "score", fails)
    engine = DecisionEngine(live)
    desks.run(engine, lambda: engine.decide(later[:8]))
    assert live.n_unscored == 0
    with desk.database.reading() as connection:
        scored = connection.execute(sa.select(payment_log.scores.c.position)).scalars().all()
    assert scored == [1, 2, 3, 5, 6, 7, 8]


def test_payments_that_were_not_scored_are_scored_after_a_restart(desk, live, later):
    live.decide(later[:30])
    again = desks.live(desk)
    assert again.n_unscored == 30
    desks.run(DecisionEngine(again), lambda: asyncio.sleep(0))
    assert again.n_unscored == 0
    assert desks.live(desk).n_unscored == 0


def test_labels_reach_features_ledger_and_audit_and_unknown_ids_are_reported(
    desk, live, made, later
):
    engine = DecisionEngine(live)
    before_the_desk = made[0]["tx"][0].as_py()

    async def work():
        await engine.decide(later[:10])
        ids = [later[0].id, "no such", before_the_desk]
        given = [LabelGiven(each, True, None, "claim") for each in ids]
        return await engine.label(given, "key:claims")

    counts = desks.run(engine, work)
    assert counts.n_unknown == 1 and counts.unknown == (1,)
    assert counts.n_new + counts.n_corrected + counts.n_known == 2
    assert live.payment(later[0].id)["label"]["is_fraud"] is True
    with desk.database.reading() as connection:
        last = list(audit_chain.entries(connection))[-1]
    assert (last.actor, last.action) == ("key:claims", "labels added")


def test_an_unknown_payment_is_none(live):
    assert live.payment("no such") is None
