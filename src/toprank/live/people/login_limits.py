"""How long a login has to wait after others that failed, by account and by client address.

An attempt counts as failed until it has succeeded, so that many at the same time gain nothing.
Accounts that do not exist are counted like those that do: the answer is the same.
"""

import ipaddress
import time
from collections import OrderedDict

_MOST_KEPT = 10_000
_LONGEST_NAME = 64  # of what is kept; no account has a longer one
_LONGEST_WAIT = 900.0  # seconds
_FORGOTTEN_AFTER = 86_400.0
_ADDRESS_FACTOR = 4  # the people of an office share an address


class LoginLimits:
    """Counts attempts in memory; the oldest are forgotten when there are too many.

    Parameters
    ----------
    lock_after
        Failed attempts of an account that are free; each one more doubles the wait.
    """

    def __init__(self, lock_after: int) -> None:
        self._accounts = _Attempts(lock_after)
        self._addresses = _Attempts(lock_after * _ADDRESS_FACTOR)

    def begin(self, name: str, address: str) -> float:
        """Count an attempt and return 0, or the seconds that it has to wait."""
        name, network = name[:_LONGEST_NAME], _network(address)
        wait = max(self._accounts.wait(name), self._addresses.wait(network))
        if not wait:
            self._accounts.count(name)
            self._addresses.count(network)
        return wait

    def succeeded(self, name: str, address: str) -> None:
        """Forget the attempts of an account, and one of its address.

        The others of the address stay: who has one account must not use it to guess at others.
        """
        self._accounts.forget(name[:_LONGEST_NAME])
        self._addresses.take_back(_network(address))


class _Attempts:
    def __init__(self, free: int) -> None:
        self._free = free
        self._found: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how many, the last

    def wait(self, key: str) -> float:
        n_failed, last = self._found.get(key, (0, 0.0))
        if n_failed < self._free:
            return 0.0
        seconds = min(2.0 ** min(n_failed - self._free, 30), _LONGEST_WAIT)
        return max(0.0, last + seconds - time.monotonic())

    def count(self, key: str) -> None:
        n_failed, last = self._found.pop(key, (0, 0.0))
        now = time.monotonic()
        is_old = now > last + _FORGOTTEN_AFTER
        self._found[key] = (1 if is_old else n_failed + 1, now)
        if len(self._found) > _MOST_KEPT:
            self._found.popitem(last=False)

    def forget(self, key: str) -> None:
        self._found.pop(key, None)

    def take_back(self, key: str) -> None:
        n_failed, last = self._found.get(key, (0, 0.0))
        if n_failed > 1:
            self._found[key] = (n_failed - 1, last)
        else:
            self.forget(key)


def _network(address: str) -> str:
    """Return what one client has of addresses: of IPv6, whoever has one has 2^64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return address
