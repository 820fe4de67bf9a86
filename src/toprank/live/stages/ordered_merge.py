"""Several ordered inputs as one: entries in the order of their sequence numbers.

Each input has entries with growing numbers, and is complete up to a number: all of its entries up
to there were added. What all inputs are complete up to can be released, since none can bring
anything before it any more. So the order does not depend on which input was faster.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from heapq import merge
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class NumberedItem(NamedTuple, Generic[Item]):
    """An item and its sequence number."""

    number: int
    item: Item


class OrderedMerge(Generic[Item]):
    """Entries of some inputs, released in order.

    Parameters
    ----------
    complete
        Each input, and the number up to which its entries were added already.
    until
        The number up to which all entries were released already.

    Examples
    --------
    >>> both = OrderedMerge({"a": 0, "b": 0})
    >>> both.add("a", [NumberedItem(1, "x"), NumberedItem(4, "y")], 4)
    >>> both.released()
    []
    >>> both.add("b", [NumberedItem(2, "z")], 3)
    >>> [each.item for each in both.released()], both.until
    (['x', 'z'], 3)
    """

    def __init__(self, complete: Mapping[Hashable, int], until: int = 0) -> None:
        self._complete = dict(complete)
        self._waiting: dict[Hashable, deque[NumberedItem[Item]]] = {
            each: deque() for each in complete
        }
        self.until = max(until, min(complete.values()))
        """All entries up to this number were released."""

    def add(self, name: Hashable, entries: Iterable[NumberedItem[Item]], until: int) -> None:
        """Add entries of an input, which is complete up to `until`.

        Those that were released already are left out.
        """
        waiting, last = self._waiting[name], self._complete[name]
        for each in entries:
            if each.number > last:
                last = each.number
                if each.number > self.until:
                    waiting.append(each)
        self._complete[name] = max(until, last)

    def n_waiting(self, name: Hashable) -> int:
        """Return how many entries of an input were not released yet."""
        return len(self._waiting[name])

    def released(self) -> list[NumberedItem[Item]]:
        """Return the entries that nothing can come before any more, in order."""
        self.until = until = max(self.until, min(self._complete.values()))
        ready = []
        for waiting in self._waiting.values():
            own = []
            while waiting and waiting[0].number <= until:
                own.append(waiting.popleft())
            ready.append(own)
        return list(merge(*ready, key=lambda each: each.number))
