"""`toprank worker`: features and scores by several processes, divided by terminal and by card."""

import os
from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank worker desk --stage terminal --broker nats://localhost:4222/bank
  toprank worker desk --stage card --broker nats://localhost:4222/bank
"""


@click.command(epilog=EXAMPLES, short_help="Compute a share of a stream, among other workers.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--stage",
    required=True,
    type=click.Choice(["terminal", "card"]),
    help="What it computes: the features of terminals, or those of cards, decisions and scores.",
)
@click.option(
    "--broker",
    required=True,
    help="NATS server, and the prefix of its streams: nats://HOST:4222/PREFIX.",
)
@click.option(
    "--partitions",
    default=4,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Partitions of each stage, at least as many as workers; fixed at the first start.",
)
@click.option(
    "--snapshot-every",
    default=50_000,
    show_default=True,
    type=click.IntRange(1),
    help="Payments of a partition between two stored states.",
)
@click.option(
    "--card-key",
    type=click.Path(path_type=Path),
    help="File of the key of cards, if the model was fitted with one.",
)
def worker(
    folder: Path, stage: str, broker: str, partitions: int, snapshot_every: int,
    card_key: Path | None,
) -> None:  # fmt: skip
    """Compute features, decisions and scores of a stream, with the model and rules in FOLDER.

    Start as many workers of each stage as there is work for. The partitions are shared among them,
    also when one dies or joins. Stop a worker with Ctrl-C: others go on where it was.
    """
    import asyncio
    import logging

    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from toprank.live.desk import Desk
    from toprank.live.streams.broker_adapters import check_library
    from toprank.live.streams.stream_address import StreamAddress

    address = StreamAddress.of(broker, "--broker")
    if address.scheme != "nats" or "." in address.name:
        raise click.UsageError(
            "--broker must be of NATS, with a prefix of letters, digits, '-' and '_': "
            f"nats://localhost:4222/bank; got {address.shown}."
        )
    check_library(address)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    from toprank.live.stages.stage_partitions import StageModel
    from toprank.live.stages.stage_streams import StageStreams
    from toprank.live.stages.stage_worker import StageWorker

    async def work(model: StageModel) -> None:
        streams = StageStreams(address, partitions)
        await StageWorker(stage, streams, model, snapshot_every, screen.remark).run()

    with Desk.open(folder) as desk:
        asyncio.run(work(StageModel(desk, card_key)))
