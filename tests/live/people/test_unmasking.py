import pytest

from live import databases
from toprank.live.people import unmasking
from toprank.live.people.desk_roles import Person
from toprank.live.people.unmasking import unmask, unmasked_cards
from toprank.live.store import audit_chain

ANNA, OTTO = Person("anna", "senior"), Person("otto", "senior")
MINUTE = 60_000_000


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        yield connection
    database.close()


def test_a_card_is_seen_by_one_person_for_a_while_and_the_audit_has_why(connection, monkeypatch):
    now = [MINUTE]
    monkeypatch.setattr(unmasking, "wall_time", lambda: now[0])
    unmask(connection, ANNA, "card-1", "the holder is on the phone", "alert:7")
    assert unmasked_cards(connection, ANNA) == {"card-1"}
    assert unmasked_cards(connection, OTTO) == set()
    now[0] += 10 * MINUTE
    unmask(connection, ANNA, "card-1", "still on the phone", "alert:7")
    now[0] += 10 * MINUTE
    assert unmasked_cards(connection, ANNA) == {"card-1"}
    now[0] += 5 * MINUTE
    assert unmasked_cards(connection, ANNA) == set()
    unmask(connection, OTTO, "card-2", "another reason", "alert:8")
    assert "card-1" not in str(connection.exec_driver_sql("SELECT * FROM unmasks").all())
    entries = list(audit_chain.entries(connection))
    assert [each.subject for each in entries] == ["alert:7", "alert:7", "alert:8"]
    assert entries[0].details == {"reason": "the holder is on the phone"}
    assert "card-1" not in str(entries)


@pytest.mark.parametrize("reason", ["", "  x  ", "x" * 501])
def test_without_a_reason_nothing_is_seen(connection, reason):
    with pytest.raises(ValueError, match="reason must have"):
        unmask(connection, ANNA, "card-1", reason, "alert:7")
    assert unmasked_cards(connection, ANNA) == set()
