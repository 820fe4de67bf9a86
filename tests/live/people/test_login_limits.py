import pytest

from toprank.live.people import login_limits
from toprank.live.people.login_limits import LoginLimits


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(login_limits.time, "monotonic", lambda: now[0])
    return now


def test_the_wait_doubles_up_to_a_quarter_of_an_hour(clock):
    limits, waits = LoginLimits(3), []
    for _ in range(14):
        wait = limits.begin("anna", "192.0.2.1")
        waits.append(wait)
        clock[0] += wait
        if wait:
            assert limits.begin("anna", "192.0.2.1") == 0
    assert waits[:6] == [0, 0, 0, 1, 2, 4]
    assert waits[-1] == 900


def test_attempts_at_the_same_time_count_before_they_have_failed(clock):
    limits = LoginLimits(3)
    assert [limits.begin("anna", "192.0.2.1") > 0 for _ in range(5)] == [False] * 3 + [True] * 2


def test_a_success_clears_the_account_but_not_what_the_address_tried_before(clock):
    limits = LoginLimits(2)
    for number in range(7):
        limits.begin(f"name{number}", "192.0.2.1")
    limits.begin("own", "192.0.2.1")
    limits.succeeded("own", "192.0.2.1")
    assert limits.begin("name9", "192.0.2.1") == 0
    assert limits.begin("own", "192.0.2.1") > 0
    assert limits.begin("own", "192.0.2.2") == 0


def test_addresses_of_one_network_of_ipv6_are_one(clock):
    limits = LoginLimits(1)
    waits = [limits.begin(f"name{number}", f"2001:db8::{number}") for number in range(5)]
    assert waits[:4] == [0] * 4 and waits[4] > 0
    assert limits.begin("name9", "2001:db8:0:1::1") == 0


def test_memory_is_bounded_and_the_latest_are_kept(clock, monkeypatch):
    monkeypatch.setattr(login_limits, "_MOST_KEPT", 100)
    limits = LoginLimits(1)
    for number in range(1_000):
        limits.begin(f"name{number}", f"192.0.{number // 250}.{number % 250}")
    assert limits.begin("name999", "192.0.9.9") > 0
    assert limits.begin("name1", "192.0.9.9") == 0


def test_a_long_name_takes_no_more_memory_than_a_short_one(clock):
    limits = LoginLimits(1)
    assert limits.begin("x" * 1_000_000, "192.0.2.1") == 0
    assert limits.begin("x" * 2_000_000, "192.0.2.2") > 0
    limits.succeeded("x" * 3_000_000, "192.0.2.1")
    assert limits.begin("x" * 64, "192.0.2.3") == 0


def test_failures_of_another_day_are_forgotten(clock):
    limits = LoginLimits(2)
    for _ in range(2):
        limits.begin("anna", "192.0.2.1")
    clock[0] += 100_000
    assert limits.begin("anna", "192.0.2.1") == 0
    assert limits.begin("anna", "192.0.2.1") == 0
