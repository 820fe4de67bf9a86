import os
import signal

import pytest

from toprank.live.desk_settings import DeskSettings
from toprank.live.desk_summary import desk_summary
from toprank.live.learning import model_life, nightly_retrain, retraining
from toprank.live.learning.nightly_retrain import ACTOR, NightlyRetrain
from toprank.live.store import model_table
from toprank.payments.history_store.writer_lock import WriterLock

DAY, HOUR = 86_400_000_000, 3_600_000_000
NIGHT = 20_000 * DAY + 2 * HOUR


class Process:
    """A process that ends when its code is set."""

    def __init__(self):
        self.code, self.is_terminated = None, False

    def poll(self):
        return self.code

    def wait(self):
        return self.code

    def terminate(self):
        self.is_terminated = True


@pytest.fixture
def started(monkeypatch):
    """The processes that were started."""
    found = []

    def start(_):
        found.append(Process())
        return found[-1]

    monkeypatch.setattr(nightly_retrain, "start_process", start)
    return found


def nightly(desk, hour=2):
    desk.settings = DeskSettings(retrain_hour=hour, clock="payments")
    return NightlyRetrain(desk)


def look(schedule, now):
    if schedule.is_due(now):
        schedule.check(now)


def begun(desk, now):
    with desk.database.writing() as connection:
        return model_life.begin(connection, 1, now // DAY, ACTOR)


def newest(desk):
    with desk.database.reading() as connection:
        return model_table.newest(connection, 1)[0]


def test_it_is_off_unless_an_hour_is_set(untrained, started):
    look(nightly(untrained, hour=None), NIGHT)
    assert started == []


def test_a_training_starts_once_per_night_after_the_hour(untrained, started):
    schedule = nightly(untrained)
    look(schedule, NIGHT - 1)
    assert started == []
    for _ in range(3):
        look(schedule, NIGHT)
    assert len(started) == 1
    started[0].code = 0
    for later in (HOUR, 2 * HOUR, 20 * HOUR):
        look(schedule, NIGHT + later)
    assert len(started) == 1
    look(schedule, NIGHT + DAY)
    assert len(started) == 2
    schedule.stop()
    assert started[1].is_terminated


def test_a_restart_on_the_same_day_trains_only_if_the_training_was_interrupted(untrained, started):
    model = begun(untrained, NIGHT)
    look(nightly(untrained), NIGHT + HOUR)
    assert len(started) == 1  # the server was killed, and the training with it
    lock = WriterLock(untrained.folder / retraining.LOCK, untrained.folder, 0.0)
    look(nightly(untrained), NIGHT + HOUR)
    lock.release()
    assert len(started) == 1  # it outlived the server
    with untrained.database.writing() as connection:
        model_life.fail(connection, 2, model, "no frauds")
    look(nightly(untrained), NIGHT + HOUR)
    assert len(started) == 1  # and is not tried all day


def test_a_training_whose_process_was_killed_is_a_failed_one_with_a_reason(untrained, started):
    schedule = nightly(untrained)
    look(schedule, NIGHT)
    begun(untrained, NIGHT)
    assert "interrupted" in desk_summary(untrained).last_retrain
    started[0].code = -9
    look(schedule, NIGHT + HOUR)
    assert newest(untrained).state == "failed"
    assert "failed: its process ended with code -9" in str(desk_summary(untrained))
    assert desk_summary(untrained).model == 1


@pytest.mark.slow
def test_a_process_of_its_own_trains_a_challenger_and_a_killed_one_leaves_none(untrained):
    killed = nightly_retrain.start_process(untrained)
    while not retraining.is_training(untrained.folder):
        assert killed.poll() is None
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not retraining.is_training(untrained.folder)
    assert not untrained.path_of("0002.toprank").exists()
    assert nightly_retrain.start_process(untrained).wait() == 0
    found = newest(untrained)
    assert (found.number, found.state, found.who) == (2, "challenger", ACTOR)
