"""A desk whose models change while it is in use; `test_served_models` is the slow twin."""

import asyncio

import numpy as np
import pytest
import sqlalchemy as sa

from live import databases, desks
from live.learning import learned_desks
from toprank.live.engine import shadow_model
from toprank.live.engine.model_jobs import ModelJobs
from toprank.live.learning import model_life
from toprank.live.learning.model_shadow import shadow_summary
from toprank.live.log_replay import replay
from toprank.live.store import audit_chain, payment_log, shadow_score_table
from toprank.live.store.alert_table import alerts
from toprank.live.store.payment_log import scores
from toprank.live.store.shadow_score_table import shadow_scores


@pytest.fixture
def live(desk):
    live = desks.live(desk)
    yield live
    live.close()


def step(live, jobs=None):
    """Let a desk notice what others have changed, and follow its models."""
    live.notice_changes()
    jobs = jobs or ModelJobs(live)
    asyncio.run(jobs.step())
    while jobs._left:
        asyncio.run(jobs.step())
    return jobs


def promoted(desk):
    with desk.database.writing() as connection:
        model_life.promote(connection, 1, "person:ben", 2)


def batch_scores(desk, file, payments):
    """What a model in a file says of payments as a table, with the history before them."""
    model, _ = desk.load_newest(model=desk.path_of(file))
    with model:
        table = model.with_features(desks.table_of(payments))
        suspicion = model.ranker_.suspicion(table)
        return suspicion, model.ranker_.calibration_.probability(suspicion)


def stored_scores(desk, n_last):
    with desk.database.reading() as connection:
        rows = connection.execute(sa.select(scores).order_by(scores.c.position)).all()
    return rows[-n_last:]


def test_scores_after_a_promotion_are_those_of_the_new_model_bit_for_bit(
    live, desk, last_payments
):
    expected = batch_scores(desk, "0002.toprank", last_payments)
    jobs = step(live)
    assert live.model_name == "0001.toprank"
    promoted(desk)
    step(live, jobs)
    assert live.model_name == "0002.toprank"
    learned_desks.scored(live, last_payments)
    found = stored_scores(desk, len(last_payments))
    assert {row.model for row in found} == {"0002.toprank"}
    np.testing.assert_array_equal([row.suspicion for row in found], expected[0])
    np.testing.assert_array_equal([row.probability for row in found], expected[1])
    with desk.database.reading() as connection:
        used = [e.details for e in audit_chain.entries(connection) if e.action == "model.use"]
    assert used == [{"model": "0002.toprank", "before": "0001.toprank"}]


def test_a_desk_that_starts_after_a_promotion_scores_with_the_new_model(desk):
    promoted(desk)
    assert desks.live(desk).model_name == "0002.toprank"


def test_a_replay_uses_the_model_that_each_score_names(live, desk, last_payments):
    half = len(last_payments) // 2
    learned_desks.scored(live, last_payments[:half])
    promoted(desk)
    jobs = step(live)
    learned_desks.scored(live, last_payments[half:])
    with desk.database.writing() as connection:
        model_life.rollback(connection, 2, "person:ben")
    step(live, jobs)
    assert live.model_name == "0001.toprank"
    found = replay(desk)
    assert found.n_scores > 1_000 and found.differences == []
    with desk.database.writing() as connection:
        last = scores.c.position == payment_log.last_position(connection)
        connection.execute(scores.update().where(last).values(model="0001.toprank"))
    assert replay(desk).n_different == 1


def test_open_alerts_are_ranked_again_by_the_new_model(live, desk):
    with desk.database.reading() as connection:
        before = {row.number: row for row in connection.execute(sa.select(alerts))}
    n_open = sum(row.state != "closed" for row in before.values())
    assert n_open >= 3
    promoted(desk)
    step(live)
    with desk.database.reading() as connection:
        after = {row.number: row for row in connection.execute(sa.select(alerts))}
        tops = {
            row.number: payment_log.score_of(connection, row.position) for row in after.values()
        }
    for number, row in after.items():
        if row.state == "closed":
            assert row == before[number]
            continue
        assert (row.model, tops[number].model) == ("0002.toprank",) * 2
        assert (row.suspicion, row.probability) == tops[number][1:3]
        assert row.updated_at == before[number].updated_at
    assert any(row.expected != before[number].expected for number, row in after.items())
    assert replay(desk).differences == []


def test_a_ranking_that_was_interrupted_is_completed_after_a_restart(live, desk):
    promoted(desk)
    jobs = ModelJobs(live)
    live.notice_changes()
    asyncio.run(jobs.step())
    with desk.database.writing() as connection:  # as if killed before the last alert
        number = connection.execute(
            sa.select(sa.func.max(alerts.c.number)).where(alerts.c.state != "closed")
        ).scalar_one()
        of_it = alerts.c.number == number
        connection.execute(alerts.update().where(of_it).values(model="0001.toprank"))
    other = desks.live(desk)
    step(other)
    with desk.database.reading() as connection:
        models = connection.execute(
            sa.select(alerts.c.model).where(alerts.c.state != "closed").distinct()
        )
        assert models.scalars().all() == ["0002.toprank"]


def test_a_challenger_scores_beside_the_champion_bit_for_bit_and_changes_nothing(
    live, desk, last_payments, tmp_path
):
    alone = desks.live(type(desk).open(databases.copy(desk.folder, tmp_path / "alone")))
    expected = batch_scores(desk, "0002.toprank", last_payments)
    step(live)
    assert live.shadow.number == 2
    for each in (live, alone):
        learned_desks.scored(each, last_payments)
    with desk.database.reading() as connection:
        rows = connection.execute(sa.select(shadow_scores)).all()
        counts = shadow_score_table.counts(connection, 2, 0)
    assert {row.model for row in rows} == {2} and counts == (len(last_payments), 0)
    np.testing.assert_array_equal([row.suspicion for row in rows], expected[0])
    np.testing.assert_array_equal([row.probability for row in rows], expected[1])
    columns = ("position", "suspicion", "probability", "matched", "model")
    mine, others = (
        [[getattr(row, name) for name in columns] for row in stored_scores(each.desk, 150)]
        for each in (live, alone)
    )
    assert mine == others
    alone.desk.close()


def test_shadow_scores_are_skipped_and_counted_while_scores_lag(
    live, desk, last_payments, monkeypatch
):
    step(live)
    learned_desks.scored(live, last_payments[:50])
    monkeypatch.setattr(shadow_model, "LONGEST_LAG", -1.0)
    learned_desks.scored(live, last_payments[50:80])
    assert live.facts()["shadow_skipped"] == 30
    with desk.database.reading() as connection:
        assert shadow_score_table.counts(connection, 2, 0) == (50, 30)


def test_a_challenger_that_fails_does_not_keep_the_champion_from_scoring(
    live, desk, last_payments, monkeypatch
):
    step(live)

    def broken(*_):
        raise RuntimeError("a broken model")

    monkeypatch.setattr(live.shadow._scorer, "score", broken)
    learned_desks.scored(live, last_payments[:20])
    assert live.n_unscored == 0 and live.facts()["shadow_skipped"] == 20


def test_a_rejected_challenger_scores_no_longer(live, desk):
    jobs = step(live)
    assert live.facts()["challenger"] == 2
    with desk.database.writing() as connection:
        model_life.reject(connection, 1, "person:ben", 2)
    step(live, jobs)
    assert live.shadow is None


def test_a_model_that_cannot_be_read_leaves_the_one_in_use(live, desk, last_payments):
    path = desk.path_of("0002.toprank")
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    promoted(desk)
    jobs = step(live)
    assert (live.model_name, live.is_sound) == ("0001.toprank", True)
    learned_desks.scored(live, last_payments[:10])
    assert stored_scores(desk, 1)[0].model == "0001.toprank"
    path.write_bytes(whole)
    with desk.database.writing() as connection:
        audit_chain.add(connection, 1, "person:ben", "something", "desk")
    step(live, jobs)
    assert live.model_name == "0002.toprank"


def test_the_summary_of_a_shadow_says_how_the_lists_differ(live, desk, last_payments):
    step(live)
    learned_desks.scored(live, last_payments)
    with desk.database.reading() as connection:
        found = shadow_summary(connection, 2, live.now(), live.settings)
    assert found.n_scored > 0 and found.n_skipped == 0
    assert 0 <= found.n_both <= min(found.champion.n_cards, found.challenger.n_cards)
    for each in (found.champion, found.challenger):
        assert each.n_cards <= live.settings.capacity
        assert 0 <= each.expected <= each.n_cards
