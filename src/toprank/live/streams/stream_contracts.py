"""What an adapter of a message broker promises: sources that are read, sinks that are written to.

A stream has partitions, each an order of messages with growing offsets. Its reader decides where
it begins: the desk keeps the offsets that it has taken in its own database, in the transaction of
what followed from them, so that no broker has to be believed about what was read.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class StreamMessage(NamedTuple):
    """A message, its place in a stream, and when the broker stored it, in microseconds."""

    body: bytes
    partition: int
    offset: int
    at: int = 0


class OutMessage(NamedTuple):
    """A message to be published; whoever reads it knows it again by `id`, should it come twice.

    Messages with the same `key` are read in the order in which they were published.
    """

    id: str
    key: str
    body: bytes


class BrokerError(Exception):
    """A broker does not do what is asked of it, in a sentence; another try may succeed."""


class StreamSource(Protocol):
    """A stream that is read. After a BrokerError, it is opened again.

    Attributes
    ----------
    name
        The stream, as people see it and as its offsets are stored; without passwords.
    notes
        What should be known of the beginning, in sentences, such as messages that are gone.
    """

    name: str
    notes: list[str]

    async def open(self, taken: Mapping[int, int]) -> None:
        """Begin after the newest offset taken of each partition; of others, with the first."""

    async def poll(self, most: int, seconds: float) -> list[StreamMessage]:
        """Return messages as soon as there are some, none after so many seconds.

        Those of a partition come in order, and none is left out: BrokerError if one may be. Fewer
        than `most` are all that there were.
        """

    async def commit(self, taken: Mapping[int, int]) -> None:
        """Let the broker know, for its figures, what is stored."""

    async def close(self) -> None:
        """End the connection; without an error, even if it has ended already."""


class StreamSink(Protocol):
    """A stream that is written to, by this desk alone. After a BrokerError, it is opened again."""

    name: str

    async def open(self, n_recent: int) -> None:
        """Connect, and find out which of the last messages the broker has already."""

    async def publish(self, messages: Sequence[OutMessage]) -> None:
        """Return when the broker has stored all messages: in their order, each once.

        Those that are among its last `n_recent` are not sent again.
        """

    async def close(self) -> None:
        """End the connection; without an error, even if it has ended already."""
