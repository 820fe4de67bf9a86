import http.client
import random
import threading
import time

import numpy as np
import pytest

from live import desks
from live.served_desk import ServedProcess
from toprank.live.desk import Desk
from toprank.live.log_replay import replay
from toprank.live.store import api_keys, payment_log

N_KILLS = 4


def sendable(payment):
    """A payment as a client sends it."""
    return payment.body | {"paid_at": payment.paid_at / 1e6}


@pytest.mark.slow
def test_what_was_answered_before_a_kill_is_in_the_log_once_and_all_of_it_can_be_replayed(
    model_file, later, tmp_path
):
    with (
        desks.new_desk(tmp_path / "desk", model_file) as desk,
        desk.database.writing() as change,
    ):
        key = api_keys.add(change, "sender", ["payments"], 0, "person:test")
    server = ServedProcess(tmp_path / "desk", key)
    answered, waiting = [], list(later)
    drawn = random.Random(3)

    def send():
        while waiting:
            try:
                server.post("/v1/payments", sendable(waiting[0]))
            except (OSError, http.client.HTTPException):
                return  # killed: the next server gets it again
            answered.append(waiting.pop(0).id)

    for _ in range(N_KILLS):
        server.start()
        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(drawn.uniform(0.2, 0.7))
        server.kill()
        sending.join()
    with Desk.open(tmp_path / "desk") as desk, desk.database.reading() as connection:
        logged = list(payment_log.after(connection, 0))
    ids = [row.id for row in logged]
    assert len(set(ids)) == len(ids)
    assert len(answered) > 20
    # in the order of sending; the last one may have been logged without an answer
    assert ids[: len(answered)] == answered and len(ids) - len(answered) <= 1
    with Desk.open(tmp_path / "desk") as desk:
        assert replay(desk).differences == []
        unbroken = desks.live(desk).model.load(desk.model_path, history=desk.snapshots.path(
            desk.snapshots.all()[0]))  # fmt: skip
        with unbroken:
            table = unbroken.with_features(desks.table_of(later[: len(ids)]))
        names = unbroken.state_.history.names
        expected = np.column_stack([table[name].to_numpy() for name in names])
        np.testing.assert_array_equal(np.stack([row.feature_values for row in logged]), expected)
