import asyncio
import os
import sys
import threading
import time

import pytest
from argon2 import PasswordHasher

from toprank.live.messages import BusyError
from toprank.live.people.passwords import Passwords, default_hasher

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class WatchedHasher:
    """A hasher that takes a moment and notes who works beside it."""

    def __init__(self):
        self.n_now, self.most, self.niceness = 0, 0, set()

    def hash(self, password):
        self.n_now += 1
        self.most = max(self.most, self.n_now)
        if sys.platform == "linux":
            self.niceness.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        time.sleep(0.01)
        self.n_now -= 1
        return "hash"


def test_a_password_is_right_for_its_hash_alone():
    async def checked():
        passwords = Passwords(CHEAP)
        stored = await passwords.hashed("a horse with a hat")
        return [
            await passwords.is_right("a horse with a hat", stored),
            await passwords.is_right("a horse with a cat", stored),
            await passwords.is_right("nobody's", None),
            await passwords.is_right("a horse with a hat", "not a hash"),
        ]

    assert asyncio.run(checked()) == [True, False, False, False]


def test_two_are_hashed_at_once_with_a_low_priority_and_too_many_are_refused():
    hasher = WatchedHasher()

    async def many():
        passwords = Passwords(hasher)
        work = [passwords.hashed("a horse with a hat") for _ in range(45)]
        return await asyncio.gather(*work, return_exceptions=True)

    found = asyncio.run(many())
    assert found.count("hash") == 40
    assert sum(isinstance(each, BusyError) for each in found) == 5
    assert hasher.most == 2
    assert all(each > os.getpriority(os.PRIO_PROCESS, 0) for each in hasher.niceness)


def test_hashes_are_of_argon2id_with_64_mib():
    hasher = default_hasher()
    assert (hasher.type.name, hasher.memory_cost, hasher.time_cost) == ("ID", 64 * 1024, 3)


def test_a_hash_of_other_parameters_is_outdated():
    passwords = Passwords(CHEAP)
    older = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash("x")
    assert passwords.is_outdated(older) and not passwords.is_outdated(CHEAP.hash("x"))


@pytest.mark.slow
def test_a_wrong_password_and_an_unknown_name_take_about_the_same_time():
    async def seconds(stored):
        passwords = Passwords()
        await passwords.is_right("x", None)  # makes the hash of nobody
        begin = time.process_time()  # of all threads: others may use the machine as well
        for _ in range(5):
            await passwords.is_right("a wrong password", stored)
        return time.process_time() - begin

    stored = default_hasher().hash("a horse with a hat")
    known, unknown = asyncio.run(seconds(stored)), asyncio.run(seconds(None))
    assert 0.5 < known / unknown < 2
