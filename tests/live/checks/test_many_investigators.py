"""Many people at once, and a process that is killed: what was confirmed is in the ledger, once."""

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from live import desks
from toprank.live.checks import check_verdicts, claims
from toprank.live.checks.check_errors import CheckError
from toprank.live.desk import Desk
from toprank.live.log_replay import replay
from toprank.live.messages import BusyError
from toprank.live.store import alert_table, audit_chain, check_table, label_table, payment_reads

N_PEOPLE, N_CARDS = 50, 600


@pytest.fixture
def busy(model_file, later, tmp_path):
    """A desk with an alert for each of many cards, whose verdicts are soon final."""
    payments = [
        replace(
            each, id=f"one-{place}", card=f"card-{place}",
            body=each.body | {"tx": f"one-{place}", "card": f"card-{place}"},
        )
        for place, each in enumerate(later[:N_CARDS])
    ]  # fmt: skip
    with desks.new_desk(tmp_path / "desk", model_file, alert_from=0.0, undo="0.2s") as desk:
        live = desks.live(desk)
        live.decide(payments)
        while live.n_unscored:
            live.score_some(64)
        yield live


def investigate(live, who, decided):
    """Decide on cards until there are none, and undo some verdicts at once."""
    rng, database = random.Random(who), live.desk.database
    while True:
        with database.writing() as connection:
            held = claims.claim_next(connection, who, live.moment(), live.settings)
            if held is None:
                return
            verdict = rng.choice(["fraud", "genuine"])
            positions = alert_table.positions_of(connection, held.alert)
            check = check_verdicts.decide(
                connection, held.alert, who, verdict, positions, "", "", live.moment(),
                live.settings,
            )  # fmt: skip
        if rng.random() < 0.2:
            try:
                with database.writing() as connection:
                    check_verdicts.undo(
                        connection, check.number, who, live.moment(), live.settings
                    )
                    claims.release(connection, held.alert, who, live.moment())
                continue
            except CheckError:
                pass  # its time was over
        decided[check.number] = (check.positions, verdict == "fraud", who)


def expected_labels(connection, decided):
    paid = payment_reads.at(connection, [at for some, *_ in decided.values() for at in some])
    ids = {row.position: row.id for row in paid}
    return Counter(
        (ids[position], is_fraud, who)
        for positions, is_fraud, who in decided.values()
        for position in positions
    )


def written_labels(connection):
    found = label_table.after(connection, 0)
    return Counter(
        (each.id, each.is_fraud, each.who) for each in found if each.source == "investigator"
    )


@pytest.mark.slow
def test_fifty_people_at_once_give_the_labels_that_they_decided_and_the_audit_verifies(busy):
    decided = {}
    people = [
        threading.Thread(target=investigate, args=(busy, f"person:p{number}", decided))
        for number in range(N_PEOPLE)
    ]
    for each in people:
        each.start()
    while any(each.is_alive() for each in people):
        with suppress(BusyError):  # others write: later
            busy.finish_checks()
    while n_pending(busy):
        busy.finish_checks()
    with busy.desk.database.reading() as connection:
        assert len(decided) >= N_CARDS
        assert written_labels(connection) == expected_labels(connection, decided)
        audit_chain.verify(connection)
        assert alert_table.n_open(connection) == 0
    assert replay(busy.desk).n_different == 0


def n_pending(live):
    with live.desk.database.reading() as connection:
        return len(check_table.in_state(connection, "pending"))


_WORK = """
import sys
from live import desks
from toprank.live.checks import check_verdicts, claims
from toprank.live.desk import Desk
from toprank.live.store import alert_table

live = desks.live(Desk.open(sys.argv[1]))
print("ready", flush=True)
while True:
    with live.desk.database.writing() as connection:
        now = live.moment()
        held = claims.claim_next(connection, "person:anna", now, live.settings)
        positions = alert_table.positions_of(connection, held.alert)
        verdict = "fraud" if held.alert % 3 else "genuine"
        check = check_verdicts.decide(
            connection, held.alert, "person:anna", verdict, positions, "", "", now, live.settings
        )
    print(check.number, flush=True)
    live.finish_checks()
"""


@pytest.mark.slow
def test_a_process_that_is_killed_loses_no_verdict_that_it_confirmed(busy):
    folder, confirmed = busy.desk.folder, set()
    busy.close()
    busy.desk.close()
    for n_confirmed in (7, 30):
        with subprocess.Popen(
            [sys.executable, "-c", _WORK, str(folder)], stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        ) as process:  # fmt: skip
            assert process.stdout.readline() == "ready\n"
            confirmed |= {int(process.stdout.readline()) for _ in range(n_confirmed)}
            process.kill()  # in the middle of whatever it does
            confirmed |= {int(line) for line in process.stdout if line.strip().isdigit()}
    with Desk.open(folder) as desk:
        live = desks.live(desk)
        with desk.database.reading() as connection:
            checks = {each.number: each for each in all_checks(connection)}
        assert confirmed <= set(checks)
        while n_pending(live):
            live.finish_checks()
        with desk.database.reading() as connection:
            decided = {
                each.number: (each.positions, each.verdict == "fraud", each.who)
                for each in checks.values()
            }
            assert written_labels(connection) == expected_labels(connection, decided)
            audit_chain.verify(connection)
        live.close()


def all_checks(connection):
    return [
        check_table.by_number(connection, number)
        for number in connection.execute(check_table.checks.select()).scalars()
    ]
