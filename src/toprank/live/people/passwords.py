"""Passwords by argon2id: hashed and checked in two threads that let others go first.

A hash takes a core for a tenth of a second and 64 MiB, on purpose. The library works without the
interpreter's lock, so payments are decided meanwhile; but more than two at once would take the
memory and all cores of a small machine from them. Where the system knows priorities of threads,
these two have a low one: whoever logs in waits for payments, not the other way around.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from toprank.live.messages import BusyError

_AT_ONCE = 2
_NICENESS = 10
_MOST_WAITING = 40
_RETRY = 2.0  # seconds

Result = TypeVar("Result")


def default_hasher() -> PasswordHasher:
    """Return what hashes with the second choice of RFC 9106, on one core instead of four."""
    return PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=1)


class Passwords:
    """Hashes and checks passwords.

    Parameters
    ----------
    hasher
        The parameters of argon2; those of stored hashes may be others.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or default_hasher()
        self._threads = ThreadPoolExecutor(_AT_ONCE, "passwords", _let_others_go_first)
        self._n_waiting = 0
        self._nobodys: str | None = None

    async def hashed(self, password: str) -> str:
        """Return the hash of a password; BusyError if too many wait."""
        return await self._in_turn(self._hasher.hash, password)

    async def is_right(self, password: str, stored: str | None) -> bool:
        """Return whether a password has this hash; for None, no sooner, that it has not."""
        return await self._in_turn(self._verify, password, stored)

    def is_outdated(self, stored: str) -> bool:
        """Return whether a hash was made with other parameters."""
        return self._hasher.check_needs_rehash(stored)

    async def _in_turn(self, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._n_waiting >= _MOST_WAITING:
            raise BusyError(_RETRY)
        self._n_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, *arguments)
        finally:
            self._n_waiting -= 1

    def _verify(self, password: str, stored: str | None) -> bool:
        if self._nobodys is None:
            self._nobodys = self._hasher.hash("nobody's")
        try:
            return self._hasher.verify(stored or self._nobodys, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


def _let_others_go_first() -> None:
    """Give this thread a low priority; elsewhere than on Linux, that is one of processes alone."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
