"""Which worker has which partition: leases in a bucket of the broker, which forgets old ones.

A worker that dies leaves its leases to expire. Each worker takes its share of the partitions: one
that joins waits until others have given some up.
"""

import json
from typing import Any

from nats.js.errors import BadRequestError, KeyWrongLastSequenceError, NoKeysError

from toprank.live.stages.stage_streams import StageStreams
from toprank.live.streams.nats_stream import broker_errors

_IS_ANOTHERS = 10071  # the server's code for a revision that is not the last one


class PartitionLeases:
    """The leases of a worker.

    Parameters
    ----------
    streams
        Where they are kept.
    stage, worker
        The stage, and a name that no other worker has.
    """

    def __init__(self, streams: StageStreams, stage: str, worker: str) -> None:
        self._streams, self._stage, self._worker = streams, stage, worker
        self._held: dict[int, int] = {}  # partition: revision of its lease
        self._sign: int | None = None  # revision of our sign of life

    @property
    def held(self) -> set[int]:
        """The partitions that this worker has."""
        return set(self._held)

    async def renew(self) -> list[int]:
        """Renew all leases and take free partitions; return those to be given up.

        Leases that another worker has taken over are not held any more afterwards.
        """
        with broker_errors(self._streams.address.shown):
            await self._streams.leases.put(f"{self._stage}.worker.{self._worker}", b"{}")
            for partition in list(self._held):
                await self._renew(partition)
            keys = await self._keys()
            n_workers = sum(each.startswith(f"{self._stage}.worker.") for each in keys)
            share = -(-self._streams.n_partitions // max(n_workers, 1))
            for partition in range(self._streams.n_partitions):
                if len(self._held) < share and self._key(partition) not in keys:
                    await self._take(partition)
        return sorted(self._held)[share:]

    async def release(self, partition: int) -> None:
        """Give up a partition at once; a lease that has ended is left to who has it by now."""
        revision = self._held.pop(partition, None)
        if revision is None:
            return
        with broker_errors(self._streams.address.shown):
            try:
                await self._streams.leases.delete(self._key(partition), last=revision)
            except BadRequestError as error:
                if error.err_code != _IS_ANOTHERS:
                    raise

    async def leave(self) -> None:
        """Give up everything, so that the others need not wait."""
        for partition in list(self._held):
            await self.release(partition)
        with broker_errors(self._streams.address.shown):
            await self._streams.leases.delete(f"{self._stage}.worker.{self._worker}")

    async def _take(self, partition: int) -> None:
        bucket: Any = self._streams.leases
        try:
            value = json.dumps({"worker": self._worker}).encode()
            self._held[partition] = await bucket.create(self._key(partition), value)
        except KeyWrongLastSequenceError:
            pass  # another one was faster

    async def _renew(self, partition: int) -> None:
        value = json.dumps({"worker": self._worker}).encode()
        try:
            self._held[partition] = await self._streams.leases.update(
                self._key(partition), value, last=self._held[partition]
            )
        except KeyWrongLastSequenceError:
            del self._held[partition]

    async def _keys(self) -> list[str]:
        try:
            return list(await self._streams.leases.keys())
        except NoKeysError:
            return []

    def _key(self, partition: int) -> str:
        return f"{self._stage}.partition.{partition}"
