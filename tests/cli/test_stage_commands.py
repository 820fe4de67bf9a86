"""`toprank worker`: its options, and the files that start many of them."""

import asyncio
import json
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from live.streams.brokers import free_port
from toprank.cli import commands

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def run(*words):
    return CliRunner().invoke(commands, ["worker", *words], catch_exceptions=True)


@pytest.mark.parametrize(
    ("broker", "says"),
    [
        ("kafka://h/bank", "of NATS"),
        ("nats://h/bank.in", "a prefix"),
    ],
)
def test_a_broker_that_workers_cannot_use_is_refused(broker, says, tmp_path):
    found = run(str(tmp_path), "--stage", "card", "--broker", broker)
    assert found.exit_code == 2 and says in found.stderr


def test_a_folder_that_is_no_desk_is_refused(tmp_path):
    found = run(str(tmp_path), "--stage", "card", "--broker", "nats://h/bank")
    assert found.exit_code == 1 and "is not a desk" in str(found.exception)


def commands_of(path):
    """The commands of toprank in a file of services or of deployments."""
    for document in yaml.safe_load_all(path.read_text()):
        for each in document.get("services", {}).values():
            if each["image"] == "toprank":
                yield each["command"]
        if document.get("kind") == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            yield container["args"]


@pytest.mark.parametrize("name", ["workers-compose.yaml", "workers-kubernetes.yaml"])
def test_files_that_start_workers_use_commands_and_options_that_there_are(name):
    stages = []
    for word, *options in commands_of(EXAMPLES / name):
        parent = click.Context(commands)
        command = commands.get_command(parent, word)
        context = command.make_context(word, list(options), parent=parent)
        stages.append(context.params["stage"])
    assert sorted(stages) == ["card", "terminal"]


def test_a_server_with_the_example_settings_divides_payments_by_terminal(tmp_path):
    nats = pytest.importorskip("nats")
    from live.streams.brokers import nats_binary

    port, settings = free_port(), EXAMPLES / "workers-nats.conf"
    command = [nats_binary(), "-c", str(settings), "-a", "127.0.0.1", "-p", str(port)]
    command += ["-js", "-sd", str(tmp_path)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def connected():
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return await nats.connect(f"nats://127.0.0.1:{port}")
            time.sleep(0.05)
        raise AssertionError("nats-server did not start")

    async def work():
        client = await connected()
        streams = client.jetstream()
        await streams.add_stream(name="bank-payments", subjects=["bank.payments.>"])
        for number in range(40):
            body = json.dumps({"number": number}).encode()
            await streams.publish(f"bank.in.terminal-{number % 20}", body)
        read = await streams.pull_subscribe("bank.payments.>", stream="bank-payments")
        found = await read.fetch(40, timeout=2)
        await client.close()
        return [(json.loads(each.data)["number"], each.subject.split(".")[2:]) for each in found]

    try:
        found = asyncio.run(work())
    finally:
        server.kill()
        server.wait()
    assert [number for number, _ in found] == list(range(40))  # one order of all partitions
    partitions = {}
    for _, (partition, terminal) in found:
        assert partitions.setdefault(terminal, partition) == partition
    assert set(partitions.values()) == set("0123")
