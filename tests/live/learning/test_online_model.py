"""The online model: every label teaches once, a kill changes nothing, it scores in shadow."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from cli.running import run_main
from live import desks
from live.learning import learned_desks
from toprank import metrics
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.online_jobs import OnlineJobs
from toprank.live.engine.online_model import FILE, OnlineModel
from toprank.live.messages import LabelGiven
from toprank.live.store import label_table, lesson_reads, payment_log
from toprank.live.store.lesson_reads import LessonPlace
from toprank.live.store.shadow_score_table import ONLINE, shadow_scores

SILENCE = 2 * 86_400_000_000


@pytest.fixture(params=["onlb"])
def live(untrained, request):
    """A desk with two weeks of payments and claims that wants an online model."""
    untrained.settings = replace(
        untrained.settings, online=True, online_learner=request.param, **learned_desks.SETTINGS
    )
    untrained.settings.write(untrained.folder)
    live = desks.live(untrained)
    yield live
    live.close()


BOTH_LEARNERS = pytest.mark.parametrize("live", ["onlb", "stream-ranker"], indirect=True)


def lessons_of(desk, most):
    """All lessons, read so many at a time."""
    with desk.database.reading() as connection:
        place, found = lesson_reads.first_place(connection), []
        while some := lesson_reads.next_lessons(connection, place, SILENCE, most):
            found += some
            place = some[-1].place
    return [(each.payment.id, each.is_fraud) for each in found if each.payment is not None]


def slow_lessons(desk):
    """The lessons by walking through the log, payment by payment, with all that is known."""
    with desk.database.reading() as connection:
        rows = list(payment_log.after(connection, 0))
        labels = label_table.after(connection, 0)
    taught, said, silent, found = {}, {}, 0, []
    ids = {row.id for row in rows}
    for row in rows:
        while rows[silent].received_at + SILENCE <= row.received_at:
            old = rows[silent]
            if old.id not in said and old.decision != "block":
                taught[old.id] = False
                found.append((old.id, False))
            silent += 1
        for label in labels:
            if label.after_position == row.position and label.id in ids:
                said.setdefault(label.id, []).append(label)
                holds = label_table.holding(said[label.id])[label.id].is_fraud
                if taught.get(label.id) != holds:
                    taught[label.id] = holds
                    found.append((label.id, holds))
    return found


def weights(model):
    return {name: array.tobytes() for name, array in model._learner.model_.arrays().items()}


def taught(live, model=None):
    """A model after all lessons."""
    jobs = OnlineJobs(live, pause=0.0)
    live.online = model
    while jobs.step():
        pass
    jobs.stop()
    return live.online


def test_every_label_teaches_once_in_the_order_of_the_log(live, last_payments):
    genuine = [each.id for each in last_payments[:5]]
    learned_desks.scored(live, last_payments[:60])
    with live.desk.database.reading() as connection:
        oldest = next(payment_log.after(connection, 0)).id
    for given, source in ((False, "investigator"), (True, "investigator"), (True, "claim")):
        live.label([LabelGiven(each, given, None, source) for each in genuine], "person:anna")
    live.label([LabelGiven(oldest, True, None, "claim")], "key:claims")  # after its silence
    learned_desks.scored(live, last_payments[60:])
    expected = slow_lessons(live.desk)
    assert lessons_of(live.desk, 1_000) == lessons_of(live.desk, 7) == expected
    assert expected.count((genuine[0], True)) == expected.count((genuine[0], False)) == 1
    assert [lesson for lesson in expected if lesson[0] == oldest] == [
        (oldest, False), (oldest, True)
    ]  # fmt: skip
    assert sum(not is_fraud for _, is_fraud in expected) > 500


@BOTH_LEARNERS
def test_a_model_that_is_killed_becomes_what_it_would_have_been_bit_for_bit(live, last_payments):
    whole = taught(live)
    names = live.model.state_.history.names
    path = live.desk.path_of(FILE)
    jobs = OnlineJobs(live, pause=0.0)
    path.unlink()
    live.online = None
    jobs.step()
    jobs.step()
    live.online.save(path)
    jobs.step()  # is lost
    learner = live.settings.online_learner
    saved, again = (OnlineModel.read(path, live.fields, names, learner) for _ in range(2))
    assert live.online.place != saved.place
    resumed = taught(live, again)
    assert weights(resumed) == weights(whole) and resumed.place == whole.place
    assert (resumed.n_frauds, resumed.n_genuine) == (whole.n_frauds, whole.n_genuine)
    learned_desks.scored(live, last_payments)
    again = taught(live, resumed)
    other = taught(live, OnlineModel.read(path, live.fields, names, learner))
    assert weights(again) == weights(other)


@BOTH_LEARNERS
def test_it_scores_payments_in_shadow_while_the_champion_does(live, last_payments):
    model = taught(live)
    learned_desks.scored(live, last_payments)
    with live.desk.database.reading() as connection:
        query = sa.select(shadow_scores).where(shadow_scores.c.model == ONLINE)
        rows = connection.execute(query).all()
    assert len(rows) == len(last_payments) and model.n_skipped == 0
    assert all(0 <= row.probability <= 1 and np.isfinite(row.suspicion) for row in rows)


@BOTH_LEARNERS
def test_it_ranks_frauds_that_it_has_not_learned_from_ahead_of_others(live):
    jobs = OnlineJobs(live, pause=0.0)
    jobs.step()  # what was before the desk, and the first lessons
    with live.desk.database.reading() as connection:
        lessons = lesson_reads.next_lessons(connection, live.online.place, SILENCE, 100_000)
    rows = [each.payment for each in lessons if each.payment is not None]
    scored = live.online.scores(
        [row.position for row in rows],
        [live._stored.read(row) for row in rows],
        np.stack([row.feature_values for row in rows]),
        0.0,
    )
    is_fraud = [each.is_fraud for each in lessons if each.payment is not None]
    found = metrics.average_precision(is_fraud, [each.suspicion for each in scored])
    assert sum(is_fraud) > 10 and found > 5 * np.mean(is_fraud)


def test_what_was_stopped_before_it_knew_the_past_begins_anew(live):
    jobs = OnlineJobs(live, pause=0.0)
    jobs.stop()
    assert jobs.step() == 0 and live.online is None and not live.desk.path_of(FILE).exists()


def test_another_learner_begins_anew(live, caplog):
    taught(live)
    names = live.model.state_.history.names
    read = OnlineModel.read(live.desk.path_of(FILE), live.fields, names, "stream-ranker")
    assert read is None and "is of another learner now" in caplog.text
    with pytest.raises(ValueError, match="online_learner must be one of"):
        DeskSettings(online_learner="trees")


def test_a_lesson_that_waits_for_a_refit_keeps_nobody_from_scoring(live):
    """The wait comes before the turn in which the learner changes."""
    model, turns = taught(live), []
    model._learner.wait_for_refit = lambda: turns.append(model._turn.locked())
    model.learn_row({"amount": 12.0}, False)
    assert turns == [False]


def test_it_is_skipped_while_scores_lag_behind_or_before_it_has_learned(live, last_payments):
    features = np.zeros((1, len(live.model.state_.history.names)))
    fresh = OnlineModel(live.fields, live.model.state_.history.names, LessonPlace(0, 0))
    assert fresh.scores([1], last_payments[:1], features, 0.0) == [] and fresh.n_skipped == 1
    model = taught(live)
    assert model.scores([1], last_payments[:1], features, 2.0) == [] and model.n_skipped == 1
    assert len(model.scores([1], last_payments[:1], features, 0.0)) == 1


def test_the_command_prints_it_with_its_comparison(live):
    taught(live)
    shown = run_main("models", "list", live.desk.folder).stdout
    assert "Online model, in shadow. Learned label by label: from " in shown
    assert "On live payments: not yet" in shown
    assert '"state": "online"' in run_main("models", "list", live.desk.folder, "--json").stdout


def test_a_desk_that_does_not_want_it_has_none(untrained):
    assert not DeskSettings().online
    with pytest.raises(TypeError, match="online must be true or false; got 1"):
        DeskSettings(online=1)
    shown = run_main("models", "list", untrained.folder).stdout
    assert "Online" not in shown


def test_it_learns_while_the_desk_is_served_and_is_saved_at_the_end(live):
    async def served():
        task = asyncio.create_task(OnlineJobs(live, between=0.01, pause=0.0).run())
        while live.online is None or live.online.place.position == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(served())
    names = live.model.state_.history.names
    saved = OnlineModel.read(live.desk.path_of(FILE), live.fields, names)
    assert saved.place == live.online.place and weights(saved) == weights(live.online)


def test_a_model_that_cannot_be_saved_does_not_end_the_shutdown(live, caplog):
    async def served():
        task = asyncio.create_task(OnlineJobs(live, between=0.01, pause=0.0).run())
        while live.online is None or live.online.place.position == 0:
            await asyncio.sleep(0.01)
        live.desk.path_of(FILE).mkdir()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(served())
    assert "the online model could not be saved" in caplog.text
