"""A circuit breaker: a blocking rule that stops too many payments stops itself.

It counts the last minute second by second. The clock is that of the caller, so that a minute
passes in a test at once.
"""

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from toprank.data import checks
from toprank.live.rules.rule_set import RuleMatch
from toprank.wording import percent, plural

_SECOND = 1_000_000
_WINDOW = 60  # seconds


class TrippedRule(NamedTuple):
    """A rule that must go to shadow, and why."""

    name: str
    version: int
    sentence: str


class Breaker:
    """Counts what live blocking rules stop in the last minute.

    Parameters
    ----------
    most_share
        The largest share of a minute's payments that a rule may block.
    least_blocks
        How many payments a rule must have blocked for its share to count.
    most_per_minute
        How many payments a rule may block in a minute, whatever its share.

    Examples
    --------
    >>> breaker = Breaker(least_blocks=2)
    >>> match = RuleMatch("all", 1, "block", "live")
    >>> breaker.add(0, [[match]])
    []
    >>> breaker.add(1_000_000, [[match], []])[0].sentence
    "rule 'all' blocked 2 of 3 payments (67 %) within a minute; at most 5 % are allowed."
    """

    def __init__(
        self, most_share: float = 0.05, least_blocks: int = 20, most_per_minute: int = 600
    ) -> None:
        checks.number_from(most_share, "most_share", 0, 1)
        self.most_share, self.least_blocks = most_share, least_blocks
        self.most_per_minute = most_per_minute
        self._seconds: deque[tuple[int, Counter[tuple[str, int] | None]]] = deque()
        self._total: Counter[tuple[str, int] | None] = Counter()  # None counts the payments

    def add(self, at: int, matches: Iterable[Iterable[RuleMatch]]) -> list[TrippedRule]:
        """Count payments with their matches, at a moment in microseconds; return what tripped.

        A rule that tripped is counted from zero afterwards.
        """
        added: Counter[tuple[str, int] | None] = Counter()
        for of_payment in matches:
            added[None] += 1
            for each in of_payment:
                if each.kind == "block" and each.state == "live":
                    added[each.name, each.version] += 1
        self._count(at // _SECOND, added)
        return [self._tripped(key) for key in added if key is not None and self._is_over(key)]

    def _count(self, second: int, added: Counter[tuple[str, int] | None]) -> None:
        while self._seconds and self._seconds[0][0] <= second - _WINDOW:
            self._total -= self._seconds.popleft()[1]  # drops what is zero, too
        if not self._seconds or self._seconds[-1][0] < second:
            self._seconds.append((second, Counter()))
        for counts in (self._seconds[-1][1], self._total):
            for key, count in added.items():  # which `update` does in several times the time
                counts[key] += count

    def _is_over(self, key: tuple[str, int]) -> bool:
        n_blocks, n_payments = self._total[key], self._total[None]
        is_share_over = n_blocks > self.most_share * n_payments
        return n_blocks > self.most_per_minute or (n_blocks >= self.least_blocks and is_share_over)

    def _tripped(self, key: tuple[str, int]) -> TrippedRule:
        n_blocks, n_payments = self._total[key], self._total[None]
        payments = plural("payment", n_payments)
        if n_blocks > self.most_per_minute:
            limit = f"at most {self.most_per_minute} per minute are allowed"
        else:
            limit = f"at most {percent(self.most_share)} are allowed"
        for _, counts in self._seconds:
            counts.pop(key, None)
        del self._total[key]
        return TrippedRule(
            *key,
            f"rule {key[0]!r} blocked {n_blocks:,} of {n_payments:,} {payments} "
            f"({percent(n_blocks / n_payments)}) within a minute; {limit}.",
        )
