"""Workers in processes of their own, and what they published."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import nats

from toprank.live.stages.stage_pages import StagePage


class StageProcess:
    """`toprank worker` of a stage; its partitions are in `lines`."""

    def __init__(self, folder, stage, broker, **options):
        command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "worker"]
        command += [str(folder), "--stage", stage, "--broker", broker]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def wait_for_partitions(self):
        """The first line that says which partitions it has."""
        for line in self._process.stderr:
            if "has partitions" in line and "none" not in line:
                return line
        raise AssertionError("the worker has ended")

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._end()

    def stop(self):
        self._process.terminate()
        return self._end()

    def _end(self):
        rest = self._process.communicate(timeout=60)[1]
        return self._process.returncode, rest


async def decisions(server, prefix):
    """Each decision with its features as bytes, by sequence number; none may come twice."""
    client = await nats.connect(server)
    streams = client.jetstream()
    found = {}
    read = await streams.pull_subscribe(f"{prefix}.decisions.*", stream=f"{prefix}-decisions")
    for _ in range((await read.consumer_info()).num_pending or 0):
        (message,) = await read.fetch(1)
        page = StagePage.of(message.data)
        for (number, row), features in zip(page.rows, page.features, strict=True):
            assert number not in found, f"payment {number} was decided twice"
            found[number] = row, features.tobytes()
    await client.close()
    return found


async def send(server, prefix, messages):
    """Publish payments, with their partition of the terminal stage, and labels."""
    client = await nats.connect(server)
    streams = client.jetstream()
    sent = []
    for place, body in messages:
        subject = f"{prefix}.payments.{place}"
        sent.append(await streams.publish_async(subject, json.dumps(body).encode()))
        if len(sent) == 500:
            await asyncio.gather(*sent)
            sent = []
    await asyncio.gather(*sent)
    await client.close()
