"""The state of a partition on the broker: its history, and the places that it is as of, together.

An object of the broker is replaced in one step, so the two can never be of different moments.
"""

import asyncio
import base64
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from nats.js import api
from nats.js.errors import NotFoundError

from toprank.live.stages.stage_streams import StageStreams
from toprank.live.streams.nats_stream import broker_errors
from toprank.live.streams.stream_contracts import BrokerError

_TIMEOUT = 120.0  # seconds to read or write a state
_CHUNKS, _CHUNK_TIMEOUT = 64, 20.0  # chunks asked for at a time, and seconds to wait for them


class InputPlace(NamedTuple):
    """The last message of an input that is in a state as a whole, and the number it reaches to."""

    offset: int = 0
    until: int = 0


class PartitionState(NamedTuple):
    """What a partition has taken in: all up to a sequence number, and the place of each input."""

    until: int
    inputs: dict[str, InputPlace]


async def load_state(streams: StageStreams, name: str, path: Path) -> PartitionState | None:
    """Return the state of a partition, whose history is written to a file; None if it has none."""
    with broker_errors(streams.address.shown):
        try:
            found = await streams.states.get_info(name)
        except NotFoundError:
            return None
        body = await asyncio.wait_for(_content(streams, found), _TIMEOUT)
    head, _, history = body.partition(b"\n")
    content = json.loads(head)
    path.write_bytes(history)
    inputs = {each: InputPlace(*place) for each, place in content["inputs"].items()}
    return PartitionState(content["until"], inputs)


async def _content(streams: StageStreams, found: api.ObjectInfo) -> bytes:
    """Return the content of an object, all of it or BrokerError.

    Its chunks are asked for, some at a time. The library's own way has them sent as fast as the
    server can, and ends early, without a word, if a busy process does not keep up.
    """
    chunks = await streams.chunks_of(found)
    content = bytearray()
    while len(content) < (found.size or 0):
        for message in await chunks.fetch(_CHUNKS, timeout=_CHUNK_TIMEOUT):
            content += message.data
    await chunks.unsubscribe()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
    if not (found.digest or "").endswith(f"={digest}"):
        raise BrokerError(f"the state {found.name} at {streams.address.shown} is damaged.")
    return bytes(content)


async def store_state(streams: StageStreams, name: str, state: PartitionState, path: Path) -> None:
    """Store a state, whose history is in a file."""
    if streams.states is None:
        raise BrokerError(f"the connection to {streams.address.shown} has ended.")
    body = json.dumps(state._asdict()).encode() + b"\n" + path.read_bytes()
    with broker_errors(streams.address.shown):
        await asyncio.wait_for(streams.states.put(name, body), _TIMEOUT)
