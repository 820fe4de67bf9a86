"""Days at a served desk: what is counted is what its ledger, its models and its audit have."""

import http.server
import os
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from toprank.live import api_sender
from toprank.live.api_sender import KeptConnection
from toprank.live.desk import Desk
from toprank.live.log_replay import replay
from toprank.live.served_days import desk_process
from toprank.live.served_days.desk_days import replay_desk
from toprank.live.served_days.desk_process import DeskProcess
from toprank.live.served_days.replayed_desk import (
    DeskPlan,
    PaymentBodies,
    check_servable,
    make_desk,
)
from toprank.live.store import audit_chain, check_table, label_table, model_table, payment_reads
from toprank.rankers.progress import silent
from toprank.simulator import Simulation, tables_by_day
from toprank.simulator.feedback.replayed_payments import NEVER, read_payments

FIRST, N_DAYS, BUDGET = 90, 3, 5


@pytest.fixture(scope="module")
def payments():
    simulation = Simulation(
        n_cards=300, n_terminals=600, n_days=FIRST + N_DAYS, random_state=0, claims=True
    )
    return read_payments(
        pa.concat_tables(tables_by_day(simulation)),
        time="paid_at", card="card", terminal="terminal", amount="amount", label="is_fraud",
        claimed="claimed_on", claim_days=7.5, random_state=0,
    )  # fmt: skip


def plan(**options):
    return DeskPlan(FIRST, BUDGET, np.timedelta64(30, "D"), n_trees=8, **options)


@pytest.fixture(scope="module")
def learned(payments, tmp_path_factory):
    """A desk that was retrained every night, and what it has come to."""
    folder = tmp_path_factory.mktemp("days") / "desk"
    return folder, replay_desk(payments, plan(), folder, is_learning=True, progress=silent)


def finished(connection):
    return check_table.in_state(connection, "finished")


@pytest.mark.slow
def test_every_check_is_a_verdict_that_the_ledger_has_and_the_truth_agrees(learned, payments):
    folder, outcome = learned
    bodies = PaymentBodies(payments)
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        checks = finished(connection)
        held = label_table.holding(label_table.after(connection, 0))
        for check in checks:
            for row in payment_reads.at(connection, check.positions):
                truth = bool(payments.is_positive[bodies.row_of(row.id)])
                assert held[row.id].is_fraud == truth == (check.verdict == "fraud")
        audit_chain.verify(connection)

    assert outcome.days.checked.tolist() == [BUDGET] * N_DAYS
    assert len(checks) == BUDGET * N_DAYS
    assert outcome.days.found.sum() == sum(each.verdict == "fraud" for each in checks)
    assert {each.who for each in checks} == {f"person:investigator-{n}" for n in (1, 2, 3)}


@pytest.mark.slow
def test_a_model_is_trained_and_promoted_every_night_by_a_second_person(learned):
    folder, outcome = learned
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        newest, *before = model_table.newest(connection)

    assert outcome.figures.n_models == N_DAYS
    assert newest.state == "champion" and newest.approver == "person:approver"
    assert {each.state for each in before} == {"retired"}
    assert (outcome.days.seconds[1:] > 0).all() and outcome.days.seconds[0] == 0


@pytest.mark.slow
def test_blocked_cards_pay_no_more_and_the_log_runs_again_to_the_same(learned, payments):
    folder, outcome = learned
    bodies = PaymentBodies(payments)
    with Desk.open(folder) as desk:
        with desk.database.reading() as connection:
            found_on = {}
            for check in finished(connection):
                if check.verdict == "fraud":
                    (row, *_) = payment_reads.at(connection, check.positions)
                    found_on[row.card] = check.day
            last = payment_reads.at(connection, range(1, 100_000))
        assert all(
            row.received_at // 86_400_000_000 <= found_on.get(row.card, 10**9) for row in last
        )
        assert replay(desk).n_different == 0
    is_scored = ~np.isnan(outcome.days.suspicion)
    sent = {bodies.row_of(row.id) - payments.rows_of(FIRST)[0] for row in last}
    assert set(np.flatnonzero(is_scored).tolist()) == sent


@pytest.mark.slow
def test_a_hostile_person_says_the_opposite_and_finds_nothing(payments, tmp_path):
    hostile = plan(n_people=1, n_hostile=1)
    outcome = replay_desk(payments, hostile, tmp_path / "desk", is_learning=False, progress=silent)
    bodies = PaymentBodies(payments)
    with Desk.open(tmp_path / "desk") as desk, desk.database.reading() as connection:
        for check in finished(connection):
            rows = payment_reads.at(connection, check.positions)
            truth = any(payments.is_positive[bodies.row_of(row.id)] for row in rows)
            assert (check.verdict == "fraud") != truth

    assert outcome.days.found.sum() == 0
    assert outcome.figures.n_models == 1


def test_bodies_have_ids_that_lead_back_to_their_rows(payments):
    bodies = PaymentBodies(payments)
    rows = np.array([3, 40, 7])
    sent = bodies.some(rows)

    assert [bodies.row_of(each["payment"]) for each in sent] == rows.tolist()
    assert [np.datetime64(each["paid_at"]) for each in sent] == payments.time[rows].tolist()
    assert [each["amount"] for each in sent] == payments.amount[rows].tolist()


def with_columns(payments, **changes):
    """The payments with other values in some of their columns."""
    table = payments.table
    for name, values in changes.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return replace(payments, table=table)


def test_columns_may_have_the_names_that_ids_and_labels_have_otherwise(payments):
    named = {"amount": "payment", "terminal": "is_fraud"}
    table = payments.table.rename_columns(
        [named.get(name, name) for name in payments.table.column_names]
    )
    bodies = PaymentBodies(replace(payments, table=table))
    (sent,) = bodies.some(np.array([5]))

    assert sent["payment"] == payments.amount[5]
    assert sent[bodies.id_field] == "p5"
    assert len({*table.column_names, bodies.id_field, bodies.label}) == 6


def test_card_numbers_are_refused_before_the_days_begin(payments):
    check_servable(payments)
    cards = pa.array(["4539148803436467"] * payments.card.size)
    with pytest.raises(ValueError, match=r"'card' must contain tokens.* 1 of 1 cards are such"):
        check_servable(with_columns(payments, card=cards))


def test_too_few_frauds_to_fit_a_model_are_reported_as_such(payments, tmp_path):
    frauds = np.flatnonzero(payments.is_positive & (payments.day > 40) & (payments.day < 55))
    claim_day = np.where(np.isin(np.arange(payments.day.size), frauds), payments.claim_day, NEVER)
    few = replace(payments, is_positive=claim_day < NEVER, claim_day=claim_day)
    rows = payments.rows_of(0, FIRST)
    with pytest.raises(ValueError, match=r"warm-up of 90 days must have enough claimed frauds"):
        make_desk(tmp_path / "desk", few, rows, plan())


class _OneAnswerEach(http.server.BaseHTTPRequestHandler):
    """Closes each connection after one answer, without saying so, as servers do with idle ones."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        self.close_connection = True

    def log_message(self, *_):
        pass


def test_a_connection_that_has_been_idle_is_opened_again(monkeypatch):
    with http.server.HTTPServer(("127.0.0.1", 0), _OneAnswerEach) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(api_sender, "_IDLE", -1.0)
        connection = KeptConnection(f"http://127.0.0.1:{server.server_port}")
        assert [connection.ask("GET", "/", None, {}).text for _ in range(3)] == ["ok"] * 3
        server.shutdown()


HANGING = """
import pathlib, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[2], "process").write_text(str(os.getpid()))
print("Serving the desk at http://127.0.0.1:1 .", file=sys.stderr, flush=True)
time.sleep(600)
"""


def test_a_server_that_hangs_does_not_outlive_the_replay(tmp_path, monkeypatch):
    monkeypatch.setattr(desk_process, "_COMMAND", HANGING)
    monkeypatch.setattr(desk_process, "_LONGEST_STOP", 0.2)
    with pytest.raises(ZeroDivisionError), DeskProcess(tmp_path) as process:
        assert process.address == "http://127.0.0.1:1"
        number = int((tmp_path / "process").read_text())
        os.kill(number, 0)  # it is there
        raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
