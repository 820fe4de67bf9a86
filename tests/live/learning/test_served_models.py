"""Models that change under a real server, killed in the middle; `test_model_jobs` is the twin."""

import itertools
import random
import subprocess
import sys
import threading
import time
import urllib.error

import numpy as np
import pytest
import sqlalchemy as sa

from live import desks
from live.served_desk import ServedProcess
from toprank.live.desk import Desk
from toprank.live.log_replay import replay
from toprank.live.store import api_keys, audit_chain, model_table, payment_log
from toprank.live.store.model_table import models
from toprank.live.store.payment_log import scores

pytestmark = pytest.mark.slow

N_KILLS = 2


class Sender(threading.Thread):
    """Sends payments one after the other until it is stopped; each is a new one.

    One that is asked to come again, because another process is writing, comes again.
    """

    def __init__(self, server, payments):
        super().__init__()
        self._server, self._payments, self._is_over = server, payments, threading.Event()
        self.sent, self.answered_at, self.error = [], [], None

    def run(self):
        for number in itertools.count():
            if self._is_over.is_set():
                return
            payment = self._payments[number % len(self._payments)]
            name = f"{payment.id}-{number}"
            body = payment.body | {"tx": name, "paid_at": payment.paid_at / 1e6}
            try:
                while not self._is_accepted(body):
                    time.sleep(0.05)
            except Exception as error:
                self.error = error
                return
            self.sent.append(name)
            self.answered_at.append(time.monotonic())
            time.sleep(0.005)

    def _is_accepted(self, body):
        try:
            self._server.post("/v1/payments", body)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return False
        return True

    @property
    def longest_pause(self):
        return float(np.diff(self.answered_at).max())

    def stop(self):
        self._is_over.set()
        self.join()


@pytest.fixture
def served(learned, untrained, last_payments):
    """A server, and a thread that sends payments to it all the time."""
    with untrained.database.writing() as connection:
        key = api_keys.add(connection, "sender", ["payments"], 0, "person:test")
    server = ServedProcess(untrained.folder, key)
    server.start()
    sender = Sender(server, last_payments)
    sender.start()
    yield server, sender
    sender.stop()
    server.stop()


def command(*words):
    start = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()"]
    return subprocess.Popen([*start, *map(str, words)], stderr=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL)  # fmt: skip


def in_use(desk):
    with desk.database.reading() as connection:
        champions = connection.execute(
            sa.select(models.c.number).where(models.c.state == "champion")
        )
        (number,) = champions.scalars()
        return number


def newest_score(desk):
    with desk.database.reading() as connection:
        query = sa.select(scores).order_by(scores.c.position.desc()).limit(1)
        return connection.execute(query).one()


def wait_for(condition, seconds=300):
    """Wait until something is so; trainings give way, so on a busy machine it may take long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def trained(desk):
    """Train a challenger; return its number and the seconds it took."""
    begin = time.monotonic()
    assert command("retrain", desk.folder, "--by", "anna", "--jobs", 1).wait() == 0
    with desk.database.reading() as connection:
        number = model_table.in_state(connection, "challenger").number
    return number, time.monotonic() - begin


def killed_training(desk, delay):
    """Kill a training some time after it was started."""
    process = command("retrain", desk.folder, "--by", "anna", "--jobs", 1)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()


_PROMOTING = """
import sys, time
from toprank.live.desk import Desk
from toprank.live.learning import model_life
from toprank.live.store import model_table

number = int(sys.argv[2])
with Desk.open(sys.argv[1]) as desk:
    print("begun", flush=True)
    while True:
        time.sleep(0.002)
        with desk.database.writing() as connection:
            model = model_table.by_number(connection, number)
            if model.state == "retired":
                model_table.change_state(connection, model, "challenger")
            elif model.state == "challenger":
                model_life.promote(connection, 1, "person:ben", number)
            else:
                model_life.rollback(connection, 1, "person:ben")
"""


def killed_promotions(desk, number, delay):
    """Promote and roll back again and again, and kill the process that does it."""
    start = [sys.executable, "-c", _PROMOTING, str(desk.folder), str(number)]
    process = subprocess.Popen(start, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(delay)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_scoring_never_stops_while_trainings_and_promotions_are_killed(served, untrained):
    server, sender = served
    drawn = random.Random(5)
    _, seconds = trained(untrained)
    for _ in range(N_KILLS):  # at any moment of a training, whatever the machine's speed
        killed_training(untrained, drawn.uniform(0.0, seconds))
        assert in_use(untrained) == 1
    new, _ = trained(untrained)
    for _ in range(N_KILLS):
        killed_promotions(untrained, new, drawn.uniform(0.0, 0.5))
        assert in_use(untrained) in (1, new)
        with untrained.database.reading() as connection:
            audit_chain.verify(connection)  # raises if it is not whole
    with untrained.database.writing() as connection:
        for number, state in (
            (1, "retired"), (new, "retired"), (1, "champion"), (new, "challenger")
        ):  # fmt: skip
            connection.execute(
                models.update().where(models.c.number == number).values(state=state)
            )
    for number, step in (
        (new, ("promote", untrained.folder, new)),
        (1, ("rollback", untrained.folder)),
    ):
        assert command("models", *step, "--by", "ben").wait() == 0
        file = model_table.file_name(number)
        wait_for(lambda file=file: newest_score(untrained).model == file)
    sender.stop()
    assert sender.error is None and len(sender.sent) > 200
    assert sender.longest_pause < 10.0  # seconds, with trainings beside it on a small machine
    wait_for(lambda: n_unscored(untrained) == 0)
    server.stop()
    found = replay(untrained)
    assert found.differences == [] and found.n_scores >= len(sender.sent)
    with untrained.database.reading() as connection:
        logged = [row.id for row in payment_log.after(connection, 0)]
    assert logged[-len(sender.sent) :] == sender.sent


def n_unscored(desk):
    with desk.database.reading() as connection:
        return len(payment_log.unscored(connection))


def test_a_server_that_is_killed_at_a_promotion_starts_again_with_one_champion(
    served, untrained, last_payments
):
    server, sender = served
    sender.stop()
    assert command("retrain", untrained.folder, "--by", "anna", "--jobs", 1).wait() == 0
    assert command("models", "promote", untrained.folder, 2, "--by", "ben").wait() == 0
    server.kill()  # perhaps before it has loaded the new model, perhaps while it ranks alerts
    assert in_use(untrained) == 2
    with Desk.open(untrained.folder) as desk:
        live = desks.live(desk)  # what a batch starts from: the log up to here
        live.close()
        n_before = live.history.position
        model, _ = desk.load_newest()
        with model:
            fresh = [
                each.__class__(
                    f"{each.id}-fresh", each.card, each.terminal, each.paid_at,
                    each.body | {"tx": f"{each.id}-fresh"},
                )
                for each in last_payments
            ]  # fmt: skip
            table = model.with_features(desks.table_of(fresh))
            expected = model.ranker_.suspicion(table)
    server.start()
    for each in fresh:
        server.post("/v1/payments", each.body | {"paid_at": each.paid_at / 1e6})
    wait_for(lambda: newest_score(untrained).position == n_before + len(fresh))
    with untrained.database.reading() as connection:
        after = scores.c.position > n_before
        rows = connection.execute(sa.select(scores).where(after).order_by(scores.c.position)).all()
    assert {row.model for row in rows} == {"0002.toprank"}
    np.testing.assert_array_equal([row.suspicion for row in rows], expected)
