import re

import pytest

from live import databases
from toprank.live.store import api_keys, audit_chain
from toprank.live.store.api_keys import KeyRing


@pytest.fixture
def database(tmp_path):
    made = databases.create(tmp_path)
    yield made
    made.close()


def made_key(database, name="loader", scopes=("payments",)):
    with database.writing() as connection:
        return api_keys.add(connection, name, scopes, 5, "person:anna")


def test_a_key_says_what_it_is_for_and_is_random(database):
    first, second = made_key(database), made_key(database, "a-loader-of-the-night")
    assert re.fullmatch("tr_loader_[A-Za-z0-9_-]{43}", first)
    assert re.fullmatch("tr_a-loader-of-_[A-Za-z0-9_-]{43}", second)
    assert first[-43:] != second[-43:]


def test_a_key_is_found_by_what_was_shown_and_only_its_hash_is_stored(database):
    key = made_key(database)
    ring = KeyRing(database)
    found = ring.find(key)
    assert (found.name, found.scopes, found.made_at) == ("loader", {"payments"}, 5)
    assert ring.find(key[:-1]) is None and ring.find("") is None and ring.find("\ud800") is None
    with database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT * FROM api_keys").all()
    assert key[-43:] not in repr(stored)


def test_a_revoked_key_is_not_found_after_a_reload_and_its_name_is_not_given_again(database):
    key, ring = made_key(database), KeyRing(database)
    ring.reload()
    with database.writing() as connection:
        api_keys.revoke(connection, "loader", 9, "person:anna")
    assert ring.find(key) is not None
    ring.reload()
    assert ring.find(key) is None
    with pytest.raises(ValueError, match="already"):
        made_key(database)
    with pytest.raises(ValueError, match="no key 'loader' in use"), database.writing() as c:
        api_keys.revoke(c, "loader", 9, "person:anna")


def test_keys_made_and_revoked_are_audited_with_the_change(database):
    made_key(database)
    with database.writing() as connection:
        api_keys.revoke(connection, "loader", 9, "person:otto")
    with database.reading() as connection:
        entries = [each[1:5] for each in audit_chain.entries(connection)]
    assert entries == [
        (5, "person:anna", "key made", "key:loader"),
        (9, "person:otto", "key revoked", "key:loader"),
    ]


@pytest.mark.parametrize("name", ["", "Loader", "a b", "-a", "a-", "a" * 41, "a_b", "é"])
def test_a_name_that_is_none_is_refused(database, name):
    with pytest.raises(ValueError, match="name of a key"):
        made_key(database, name)


@pytest.mark.parametrize("scopes", [(), ("payments", "all")])
def test_unknown_scopes_are_refused(database, scopes):
    with pytest.raises(ValueError, match="scope"):
        made_key(database, scopes=scopes)


def test_the_hour_of_the_last_use_is_written_when_asked_and_once_an_hour(database, monkeypatch):
    hour = 3_600_000_000
    key, ring = made_key(database), KeyRing(database)
    now = [10 * hour + 7]
    monkeypatch.setattr(api_keys.time, "time_ns", lambda: now[0] * 1_000)
    for _ in range(3):
        ring.find(key)
    assert used_at(database) is None
    ring.write_uses()
    assert used_at(database) == 10 * hour

    watching = database.engine.connect()
    before = database.n_changes(watching)
    now[0] += hour // 2
    ring.find(key)
    ring.write_uses()
    assert database.n_changes(watching) == before
    now[0] += hour
    ring.find(key)
    ring.write_uses()
    assert used_at(database) == 11 * hour
    assert database.n_changes(watching) != before
    watching.close()


def used_at(database):
    with database.reading() as connection:
        return api_keys.all_keys(connection)[0].used_at
