"""The state of a partition on the broker: its history, and the places that it is as of, together.

An object of the broker is replaced in one step, so the two can never be of different moments.
"""

import asyncio
import json
from pathlib import Path
from typing import NamedTuple

from nats.js.errors import NotFoundError

from toprank.live.stages.stage_streams import StageStreams
from toprank.live.streams.nats_stream import broker_errors
from toprank.live.streams.stream_contracts import BrokerError

_TIMEOUT = 120.0  # seconds to read or write a state


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
            found = await asyncio.wait_for(streams.states.get(name), _TIMEOUT)
        except NotFoundError:
            return None
    head, _, history = found.data.partition(b"\n")
    content = json.loads(head)
    path.write_bytes(history)
    inputs = {each: InputPlace(*place) for each, place in content["inputs"].items()}
    return PartitionState(content["until"], inputs)


async def store_state(streams: StageStreams, name: str, state: PartitionState, path: Path) -> None:
    """Store a state, whose history is in a file."""
    if streams.states is None:
        raise BrokerError(f"the connection to {streams.address.shown} has ended.")
    body = json.dumps(state._asdict()).encode() + b"\n" + path.read_bytes()
    with broker_errors(streams.address.shown):
        await asyncio.wait_for(streams.states.put(name, body), _TIMEOUT)
