"""Runs of workers on a NATS server of their own."""

import asyncio
import json
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import nats

from toprank.live.stages.stage_pages import StagePage
from toprank.live.stages.stage_streams import StageStreams
from toprank.live.streams.stream_address import StreamAddress
from toprank_bench.worker_load.worker_world import WorkerWorld, digest

PREFIX = "bank"


class WorkerRun(NamedTuple):
    """What a run of some workers per stage gave."""

    n_workers: int
    n_entries: int
    seconds: float
    worker_seconds: float
    """Processor seconds of all workers with their starts; of the server, the next."""
    server_seconds: float
    stream_bytes: dict[str, int]
    n_decided: int
    n_different: int
    n_twice: int


def run_workers(
    world: WorkerWorld,
    expected: dict[str, bytes],
    n_workers: int,
    kills: bool,
    report: Callable[[str], None],
) -> WorkerRun:
    """Start workers, let them compute all payments, and compare what they give.

    With `kills`, one of each stage is killed with SIGKILL in the middle and not replaced.
    """
    entries = world.entries()
    before = _spent()
    with _server() as address:
        asyncio.run(_prepare(address, world.n_partitions, entries))
        report(f"{len(entries):,} messages are at the broker.")
        workers = _started(world, address, n_workers)
        try:
            began = time.monotonic()
            _wait(address, world, len(entries), workers, kills, report)
            seconds = time.monotonic() - began
        finally:
            for each in workers.values():
                each.terminate()
            for each in workers.values():
                with suppress(subprocess.TimeoutExpired):
                    each.wait(60)
        of_workers = _spent() - before
        sizes, found, n_twice = asyncio.run(_decided(address))
    of_server = _spent() - before - of_workers
    n_different = sum(found.get(each) != bits for each, bits in expected.items())
    n_different += len(found.keys() - expected.keys())
    return WorkerRun(
        n_workers,
        len(entries),
        seconds,
        of_workers,
        of_server,
        sizes,
        len(found),
        n_different,
        n_twice,
    )


@contextmanager
def _server() -> Iterator[str]:
    binary = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if binary is None:
        raise ValueError("nats-server must be installed for this; see https://nats.io.")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield f"nats://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


async def _prepare(
    address: str, n_partitions: int, entries: list[tuple[str, dict[str, Any]]]
) -> None:
    made = StageStreams(StreamAddress.of(f"{address}/{PREFIX}", "address"), n_partitions)
    await made.open()
    await made.close()
    client = await nats.connect(address)
    streams, sent = client.jetstream(), []
    for place, body in entries:
        subject = f"{PREFIX}.payments.{place}"
        sent.append(await streams.publish_async(subject, json.dumps(body).encode()))
        if len(sent) == 1_000:
            await asyncio.gather(*sent)
            sent = []
    await asyncio.gather(*sent)
    await client.close()


def _started(world: WorkerWorld, address: str, n_workers: int) -> dict[str, subprocess.Popen]:
    """Return workers, all of which have begun."""
    found = {}
    for stage in ("terminal", "card"):
        for number in range(n_workers):
            command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "worker"]
            command += [str(world.folder), "--stage", stage, "--broker", f"{address}/{PREFIX}"]
            command += ["--partitions", str(world.n_partitions)]
            name = f"{stage}-{number}"
            # a file: a worker whose pipe is full would wait
            with _log_of(world, name).open("wb") as log:
                found[name] = subprocess.Popen(command, stderr=log)
    while not all(_log_of(world, name).stat().st_size for name in found):
        time.sleep(0.1)
    return found


def _log_of(world: WorkerWorld, name: str) -> Path:
    """Return where a worker's messages go."""
    return world.folder / f"{name}.log"


def _wait(
    address: str, world: WorkerWorld, n_entries: int, workers: dict[str, subprocess.Popen],
    kills: bool, report: Callable[[str], None],
) -> None:  # fmt: skip
    """Return when all partitions have decided everything."""
    killed: set[str] = set()
    while True:
        reached = asyncio.run(_reached(address, world.n_partitions))
        share = reached / n_entries
        for stage, at in (("terminal", 0.2), ("card", 0.45)):
            if kills and share > at and stage not in killed:
                killed.add(stage)
                victim = workers.pop(f"{stage}-0")
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                report(f"killed a worker of stage {stage} at {share:.0%}.")
        if reached >= n_entries:
            return
        for name, each in workers.items():
            if each.poll() is not None:
                last = _log_of(world, name).read_text().strip()[-500:]
                raise ValueError(f"worker {name} has ended: {last}")
        time.sleep(0.5)


async def _reached(address: str, n_partitions: int) -> int:
    """Return the sequence number up to which all partitions have decided."""
    client = await nats.connect(address)
    streams, found = client.jetstream(), []
    for partition in range(n_partitions):
        try:
            last = await streams.get_last_msg(
                f"{PREFIX}-decisions", f"{PREFIX}.decisions.{partition}"
            )
            found.append(StagePage.of(last.data or b"").until)
        except nats.js.errors.NotFoundError:
            found.append(0)
    await client.close()
    return min(found)


async def _decided(address: str) -> tuple[dict[str, int], dict[str, bytes], int]:
    """Return the bytes of each stream, a digest per payment, and how many came twice."""
    client = await nats.connect(address)
    streams, found, n_twice = client.jetstream(), {}, 0
    sizes = {
        kind: (await streams.stream_info(f"{PREFIX}-{kind}")).state.bytes
        for kind in ("payments", "cards", "decisions")
    }
    read = await streams.pull_subscribe(f"{PREFIX}.decisions.*", stream=f"{PREFIX}-decisions")
    left = (await read.consumer_info()).num_pending or 0
    while left:
        for message in await read.fetch(min(left, 20), timeout=10):
            left -= 1
            await message.ack()
            page = StagePage.of(message.data)
            for (_, row), values in zip(page.rows, page.features, strict=True):
                n_twice += row["id"] in found
                found[row["id"]] = digest(values.tobytes(), row)
    await client.close()
    return sizes, found, n_twice


def _spent() -> float:
    """Return the processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
