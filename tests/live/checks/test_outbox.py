import json

import pytest

from live.bank_server import Bank
from live.checks.listed_cards import NOW, SETTINGS, add_alert
from toprank.live.checks import actions, outbox
from toprank.live.checks.check_errors import CheckError
from toprank.live.checks.outbox import Delivery
from toprank.live.desk_clock import Moment, wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import audit_chain, outbox_table

ANNA = "person:anna"


@pytest.fixture
def bank():
    found = Bank()
    yield found
    found.close()


@pytest.fixture
def settings(bank, tmp_path):
    key = tmp_path / "block.key"
    key.write_text("a secret\n")
    return DeskSettings(block_url=bank.url, block_key=str(key))


def asked(database, settings, reason="stolen"):
    with database.writing() as connection:
        number = add_alert(connection, 0.9)
        now = Moment(NOW.desk, wall_time())
        return actions.block_card(connection, number, ANNA, reason, now, settings)


def stored(database, message):
    with database.reading() as connection:
        return outbox_table.of_alert(connection, message.alert)[0]


def make_due(database):
    with database.writing() as connection:
        connection.execute(outbox_table.outbox.update().values(next_at=0))


def test_a_request_to_block_a_card_is_delivered_with_its_key_and_a_signature(
    database, bank, settings
):
    message = asked(database, settings)
    assert outbox.deliver(database, settings) == 1
    ((headers, body),) = bank.seen
    assert json.loads(body) == {
        "card": "card-0001", "alert": 1, "reason": "stolen", "at": NOW.desk,
    }  # fmt: skip
    assert headers["Idempotency-Key"] == message.key
    sent_at = headers["X-Toprank-Time"]
    assert headers["X-Toprank-Signature"] == outbox.signature(
        b"a secret", sent_at, message.key, body
    )
    found = stored(database, message)
    assert (found.state, found.outcome) == ("delivered", "accepted with status 200")
    assert outbox.deliver(database, settings) == 0


def test_a_server_that_fails_is_asked_again_later_with_the_same_key(database, bank, settings):
    bank.statuses = [503, 429, 204]
    message = asked(database, settings)
    waits = []
    for _ in range(2):
        before = wall_time()
        assert outbox.deliver(database, settings) == 1
        found = stored(database, message)
        assert found.state == "pending" and found.outcome.startswith("refused with status")
        waits.append(found.next_at - before)
        assert outbox.deliver(database, settings) == 0  # not before its time
        make_due(database)
    assert waits[1] > 1.5 * waits[0] > 1_000_000
    outbox.deliver(database, settings)
    assert stored(database, message).state == "delivered"
    assert {headers["Idempotency-Key"] for headers, _ in bank.seen} == {message.key}


@pytest.mark.parametrize("status", [400, 404, 302])
def test_a_request_that_is_refused_for_good_is_not_repeated_nor_sent_elsewhere(
    database, bank, settings, status
):
    bank.statuses = [status]
    message = asked(database, settings)
    outbox.deliver(database, settings)
    found = stored(database, message)
    assert (found.state, found.outcome) == ("failed", f"refused with status {status}")
    assert len(bank.seen) == 1


def test_after_many_tries_without_an_answer_the_request_has_failed(database, settings):
    message = asked(database, settings)
    for _ in range(outbox.MOST_TRIES):
        make_due(database)
        outbox.deliver(database, settings, lambda *_: Delivery(None, "no answer: refused"))
    found = stored(database, message)
    assert (found.state, found.n_tries) == ("failed", outbox.MOST_TRIES)
    with database.reading() as connection:
        *_, last = audit_chain.entries(connection)
    assert (last.actor, last.action) == ("job:outbox", "block failed")


def test_where_nobody_listens_the_outcome_says_so(database, bank):
    settings = DeskSettings(block_url="http://127.0.0.1:9/")
    message = asked(database, settings)
    outbox.deliver(database, settings)
    assert stored(database, message).outcome.startswith("no answer: ")


def test_a_card_is_asked_to_be_blocked_once_unless_that_has_failed(database, bank, settings):
    message = asked(database, settings)

    def again():
        with database.writing() as connection:
            now = Moment(NOW.desk, wall_time())
            return actions.block_card(connection, message.alert, ANNA, "again", now, settings)

    assert again() == message
    bank.statuses = [410]
    outbox.deliver(database, settings)
    assert again().number != message.number


def test_without_an_address_the_sentence_says_what_to_set(connection):
    number = add_alert(connection, 0.9)
    with pytest.raises(CheckError, match="set block_url in "):
        actions.block_card(connection, number, ANNA, "stolen", NOW, SETTINGS)


@pytest.mark.parametrize("url", ["http://bank.example/block", "ftp://localhost/", "block"])
def test_an_address_outside_this_machine_must_be_of_https(url):
    with pytest.raises(ValueError, match="block_url must be an address that begins with https"):
        DeskSettings(block_url=url)
