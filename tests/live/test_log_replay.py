import numpy as np
import pytest
import sqlalchemy as sa

from live import desks
from toprank.live.log_replay import replay
from toprank.live.messages import LabelGiven
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.snoozed_cards import snooze
from toprank.live.store.payment_log import payments, scores


@pytest.fixture
def log(desk, later):
    """A desk whose rules, snoozes and labels changed while payments came in."""
    live = desks.live(desk)
    fields = rule_fields(live.model)

    def changed(work):
        with desk.database.writing() as connection:
            work(connection)
        live.notice_changes()

    def add(connection, name, text, kind):
        rule_life.add_rule(connection, 1, "person:anna", name, text, kind, fields)
        rule_life.stage(connection, 2, "person:anna", name)
        rule_life.approve(connection, 3, "person:ben", name)

    def decided(start, stop):
        live.decide(later[start:stop])
        live.score_some(stop - start)

    decided(0, 60)
    changed(lambda connection: add(connection, "large", "amount > 60", "block"))
    decided(60, 120)
    live.label([LabelGiven(each.id, True, None, "claim") for each in later[:40:7]], "key:claims")
    now, card = live.now(), later[130].card
    changed(
        lambda connection: snooze(
            connection, now, "person:anna", card, None, "travels", now + 10**12
        )
    )
    decided(120, 240)
    changed(lambda connection: rule_life.retire(connection, 4, "person:ben", "large"))
    desk.snapshots.write(live.history.history, live.history.place)
    decided(240, 300)
    live.close()
    return desk


def test_the_log_gives_the_same_features_decisions_and_scores_again(log):
    result = replay(log)
    assert (result.n_payments, result.n_scores, result.differences) == (300, 300, [])
    with log.database.reading() as connection:
        decisions = connection.execute(sa.select(payments.c.decision)).scalars().all()
    assert {"accept", "block"} == set(decisions)


def test_a_replay_from_a_moment_begins_at_the_snapshot_before_it(log, later):
    result = replay(log, since=later[250].paid_at)
    assert 0 < result.n_payments <= 60 and not result.n_different
    assert result.n_before + result.n_payments == 60


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        (payments, "features", np.zeros(44).tobytes()),
        (payments, "decision", "block"),
        (payments, "matched", '[["other",1,"live"]]'),
        (scores, "suspicion", 0.125),
    ],
)
def test_whatever_was_changed_in_the_log_is_found(log, table, column, value):
    with log.database.writing() as connection:
        connection.execute(table.update().where(table.c.position == 33).values({column: value}))
    result = replay(log)
    assert result.n_different >= 1
    assert "position 33" in result.differences[0]


def test_an_empty_log_has_nothing_to_compare(desk):
    assert replay(desk).n_payments == 0
