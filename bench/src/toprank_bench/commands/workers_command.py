"""`toprank bench workers`: workers on a NATS server against one process."""

import tempfile
from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank bench workers --payments 100000
  toprank bench workers --payments 1000000 --workers 2 --kills
"""


@click.command(epilog=EXAMPLES, short_help="Compare workers with one process, and time them.")
@click.option(
    "--payments", default=200_000, show_default=True, type=click.IntRange(1_000),
    help="Payments of a run.",
)  # fmt: skip
@click.option(
    "--workers", "counts", multiple=True, type=click.IntRange(1, 16), default=(1, 2, 4),
    show_default=True, help="Workers per stage; repeatable.",
)  # fmt: skip
@click.option(
    "--partitions", default=4, show_default=True, type=click.IntRange(1, 64),
    help="Partitions of each stage.",
)  # fmt: skip
@click.option("--kills", is_flag=True, help="Kill a worker of each stage in the middle.")
@click.option(
    "--data", type=click.Path(path_type=Path),
    help="Folder that keeps the desk for the next run of as many payments.",
)  # fmt: skip
def workers(
    payments: int, counts: tuple[int, ...], partitions: int, kills: bool, data: Path | None
) -> None:
    """Compute made-up payments by workers, and compare every feature and score with one process.

    The exit code is 1 if a payment is missing, comes twice, or differs in a bit. Seconds are of
    processors: all workers together, the server, and one process without messages.
    """
    from toprank.cli import desk_extra, screen
    from toprank.wording import aligned

    desk_extra.check_installed()
    from toprank_bench.worker_load.worker_runs import run_workers
    from toprank_bench.worker_load.worker_world import WorkerWorld

    folder = data or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    world = WorkerWorld(folder, payments, partitions)
    one = world.by_one_process()
    million = 1e6 / payments
    screen.remark(f"one process: {one.seconds * million:.0f} processor seconds per million.")
    lines, n_wrong = [], 0
    for count in counts:
        run = run_workers(world, one.digests, count, kills, screen.remark)
        n_wrong += run.n_different + run.n_twice
        figures = [payments / run.seconds, run.worker_seconds * million]
        figures += [run.server_seconds * million]
        figures += [size / payments for size in run.stream_bytes.values()]
        figures += [run.n_decided, run.n_different, run.n_twice]
        lines.append([f"{count} + {count}", *(f"{each:,.0f}" for each in figures)])
        screen.remark("  ".join(lines[-1]))
    headings = [
        "workers", "payments/s", "worker s per 1 M", "server s per 1 M", "bytes in",
        "bytes between", "bytes out", "decided", "different", "twice",
    ]  # fmt: skip
    screen.show(aligned([headings, *lines]))
    if n_wrong:
        raise ValueError(f"{n_wrong:,} payments differ from those of one process, or come twice.")
