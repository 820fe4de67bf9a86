"""A worker of a stage: takes its share of the partitions, and gives them up when others come."""

import asyncio
import logging
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from toprank.live.stages.partition_leases import PartitionLeases
from toprank.live.stages.partition_run import RUNS, PartitionRun
from toprank.live.stages.stage_partitions import StageModel
from toprank.live.stages.stage_streams import LEASE, PartitionLostError, StageStreams
from toprank.live.streams.ended_tasks import end_task
from toprank.live.streams.stream_contracts import BrokerError

_log = logging.getLogger("toprank.live")

_BETWEEN = LEASE / 5  # seconds between two signs of life
_PAUSE = 1.0  # seconds before what has failed is begun again


class StageWorker:
    """A process of a stage.

    Parameters
    ----------
    stage
        "terminal" or "card".
    streams, model
        The broker, and the model and rules.
    every
        Payments of a partition between two stored states.
    report
        Called with a sentence when the partitions have changed.
    """

    def __init__(
        self,
        stage: str,
        streams: StageStreams,
        model: StageModel,
        every: int = 50_000,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = f"{stage}-{secrets.token_hex(3)}"
        self._stage, self._streams, self._model = stage, streams, model
        self._every, self._report = every, report
        self._leases = PartitionLeases(streams, stage, self.name)
        self._runs: dict[int, tuple[PartitionRun, asyncio.Task[None]]] = {}
        self._stopping = asyncio.Event()
        self._folder = Path(tempfile.mkdtemp(prefix="toprank-worker-"))
        self._shown: set[int] | None = None
        self._fault = ""

    def stop(self) -> None:
        """Store all states, give up all partitions, and let `run` return."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until it is stopped or gets SIGTERM; a broker that is away is tried again."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(each, self.stop)
        try:
            while not self._stopping.is_set():
                try:
                    await self._streams.open()
                    self._note("")
                    while not self._stopping.is_set():
                        await self._look()
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._stopping.wait(), _BETWEEN)
                    await self._leave()
                except BrokerError as error:
                    self._note(str(error))
                except Exception as error:
                    _log.exception("%s has failed; it begins again.", self.name)
                    self._note(str(error))
                await self._drop_all()
                if not self._stopping.is_set():
                    await asyncio.sleep(_PAUSE)
        finally:
            await self._drop_all()
            await self._streams.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _look(self) -> None:
        """Renew the leases; begin and end partitions accordingly."""
        surplus = await self._leases.renew()
        for partition in surplus:
            await self._finish(partition)
        for partition in set(self._runs) - self._leases.held:
            await self._drop(partition)
        for partition, (_, task) in list(self._runs.items()):
            if task.done():
                await self._drop(partition)
        for partition in self._leases.held - set(self._runs):
            run = RUNS[self._stage](
                self._streams, self._model, partition, self._folder, self._every
            )
            self._runs[partition] = run, asyncio.create_task(run.run())
        if self._leases.held != self._shown:
            self._shown = self._leases.held
            held = ", ".join(map(str, sorted(self._shown))) or "none"
            self._report(
                f"Worker {self.name} has partitions {held} of {self._streams.n_partitions}."
            )

    async def _finish(self, partition: int) -> None:
        """Store a partition's state, and give it up to others."""
        if partition in self._runs:
            run, task = self._runs[partition]
            run.stop()
            await asyncio.wait([task])
            await self._drop(partition)
        await self._leases.release(partition)

    async def _drop(self, partition: int) -> None:
        """End the run of a partition as it is; what it has not stored is done again."""
        _, task = self._runs.pop(partition)
        try:
            await end_task(task)
        except PartitionLostError:
            _log.warning("partition %d of %s went on elsewhere.", partition, self._stage)
            await self._leases.release(partition)
        except BrokerError as error:
            self._note(str(error))
        except Exception:
            _log.exception("partition %d of %s has failed; it begins again.", partition, self.name)

    async def _drop_all(self) -> None:
        for partition in list(self._runs):
            await self._drop(partition)

    async def _leave(self) -> None:
        for partition in list(self._runs):
            await self._finish(partition)
        await self._leases.leave()

    def _note(self, fault: str) -> None:
        """Write to the log, once, why nothing is done at present."""
        if fault and fault != self._fault:
            _log.warning("%s (It is tried again every few seconds.)", fault)
        elif self._fault and not fault:
            _log.warning("%s is connected again.", self._streams.address.shown)
        self._fault = fault
