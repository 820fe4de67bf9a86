"""Messages of a stream as payments or labels; those that are neither, with the reason."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from toprank.live.desk_clock import wall_time
from toprank.live.store.stream_reject_table import StreamReject
from toprank.live.streams.stream_contracts import StreamMessage
from toprank.live.web import strict_json
from toprank.live.web.batches import LARGEST_ITEM, too_large
from toprank.live.web.request_errors import RequestError, shown

Item = TypeVar("Item")


class ReadMessages(NamedTuple, Generic[Item]):
    """What came in some messages: items with the message of each, and rejected messages."""

    items: list[Item]
    messages: list[StreamMessage]
    rejects: list[StreamReject]
    taken: dict[int, int]
    """The newest offset of each partition."""


def read_messages(
    stream: str, messages: Sequence[StreamMessage], read: Callable[[Any], Item]
) -> ReadMessages[Item]:
    """Return what `read` makes of the JSON in each message, or the RequestError it raises."""
    found: ReadMessages[Item] = ReadMessages([], [], [], newest_offsets(messages))
    for message in messages:
        try:
            if len(message.body) > LARGEST_ITEM:
                raise too_large(LARGEST_ITEM, "a message")
            item = read(strict_json.parsed(message.body))
        except RequestError as error:
            found.rejects.append(reject(stream, message, error.code, error.message))
        else:
            found.items.append(item)
            found.messages.append(message)
    return found


def newest_offsets(messages: Iterable[StreamMessage]) -> dict[int, int]:
    """Return the newest offset of each partition.

    >>> newest_offsets([StreamMessage(b"", *place) for place in [(0, 7), (1, 3), (0, 8)]])
    {0: 8, 1: 3}
    """
    found: dict[int, int] = {}
    for each in messages:
        found[each.partition] = max(each.offset, found.get(each.partition, each.offset))
    return found


def reject(stream: str, message: StreamMessage, code: str, reason: str) -> StreamReject:
    """Return a message as one that could not be taken in, for a reason without card numbers."""
    place = stream, message.partition, message.offset
    return StreamReject(*place, wall_time(), code, reason.replace("the body", "the message"))


def conflict(stream: str, message: StreamMessage, payment_id: str) -> StreamReject:
    """Return the message of a payment whose id is known with other content."""
    words = f"payment {shown(payment_id)!r} was received before with other content."
    return reject(stream, message, "conflict", words)


def unknown(stream: str, message: StreamMessage, payment_id: str) -> StreamReject:
    """Return the message of a label whose payment is not known."""
    return reject(
        stream, message, "unknown_payment", f"there is no payment {shown(payment_id)!r}."
    )


def summary(rejects: Sequence[StreamReject], folder: str) -> str:
    """Return a sentence for the log about messages that were rejected together."""
    first = min(rejects, key=lambda each: each[1:3])
    one = len(rejects) == 1
    count = "a message" if one else f"{len(rejects)} messages"
    where = f"partition {first.partition}, " if first.partition else ""
    place = f"{where}offset {first.position}"
    return (
        f"{count} of {first.stream} rejected ({'' if one else 'the first at '}{place}): "
        f"{first.reason} To list all: toprank streams {folder}"
    )
