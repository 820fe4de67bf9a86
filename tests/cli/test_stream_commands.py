import json

import pytest
from click.testing import CliRunner

from toprank.cli import commands
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import stream_position_table, stream_reject_table
from toprank.live.store.desk_database import Database
from toprank.live.store.stream_reject_table import StreamReject

PAYMENTS = "nats://localhost:4222/payments"


@pytest.fixture
def folder(tmp_path):
    Database.create(tmp_path).close()
    return tmp_path


def run(*words):
    return CliRunner().invoke(commands, ["streams", *map(str, words)], catch_exceptions=True)


def test_a_desk_without_streams_is_shown_how_to_name_them(folder):
    DeskSettings().write(folder)
    found = run(folder)
    assert found.stdout == "" and "payments_from = " in found.stderr


def test_places_and_rejected_messages_are_listed(folder):
    DeskSettings(payments_from=PAYMENTS, alerts_to="kafka://h/alerts").write(folder)
    rejects = [StreamReject(PAYMENTS, 0, at, at, "invalid", f"fault {at}") for at in (7, 9)]
    with Database.open(folder).writing() as connection:
        stream_position_table.put(connection, PAYMENTS, {0: 9})
        stream_reject_table.add(connection, [*rejects, rejects[0]])
    found = json.loads(run(folder, "--json", "--rejects", 1).stdout)
    first, other = found["streams"]
    assert (first["setting"], first["position"], first["rejected"]) == ("payments_from", 9, 2)
    assert (other["stream"], other["position"]) == ("kafka://h:9092/alerts", None)
    assert [each["reason"] for each in found["rejects"]] == ["fault 9"]
    shown = run(folder).stdout
    assert shown.index("fault 9") < shown.index("fault 7") and "offset 7" in shown


def test_rejected_messages_are_forgotten(folder):
    with Database.open(folder).writing() as connection:
        stream_reject_table.add(connection, [StreamReject("s", 0, 1, at, "c", "r") for at in [5]])
        stream_reject_table.drop_before(connection, 5)
        assert stream_reject_table.counts(connection) == {"s": 1}
        stream_reject_table.drop_before(connection, 6)
        assert stream_reject_table.counts(connection) == {}
