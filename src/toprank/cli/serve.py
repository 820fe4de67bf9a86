"""`toprank serve`: a live system that answers payments and ranks cards."""

import os
import threading
from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank serve --demo                  # a made-up world that pays, with hidden frauds
  toprank desk init desk --model payments.toprank
  toprank keys add desk loader --scope payments
  toprank serve desk
  toprank serve desk --pages-only --port 8322    # beside it, for data in PostgreSQL
"""


@click.command(epilog=EXAMPLES, short_help="Answer payments as they come, and rank the cards.")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others than the default can be reached from elsewhere.",
)
@click.option(
    "--port",
    default=8321,
    show_default=True,
    type=click.IntRange(0, 65_535),
    help="Port to listen on; 0 for a free one.",
)
@click.option(
    "--card-key",
    type=click.Path(path_type=Path),
    help="File of the key of cards, if the model was fitted with one.",
)
@click.option(
    "--database",
    help="Address of the database of a FOLDER whose data are in PostgreSQL, with its password; "
    "better as TOPRANK_DATABASE, which others cannot see.  [default: as in FOLDER/desk.toml]",
)
@click.option(
    "--pages-only",
    is_flag=True,
    help="Only serve pages, beside the process that takes the payments; the data must be in "
    "PostgreSQL.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Make a world that pays in fast time, in FOLDER.  [default: demo-desk]",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0, 2**31 - 1),
    help="Random seed of the demo.",
)
@click.option(
    "--seconds-per-day",
    default=600.0,
    show_default=True,
    type=click.FloatRange(1),
    help="How long a day of the demo takes.",
)
def serve(
    folder: Path | None, host: str, port: int, card_key: Path | None, demo: bool, seed: int,
    seconds_per_day: float, database: str | None, pages_only: bool,
) -> None:  # fmt: skip
    """Serve the live system in FOLDER, which `toprank desk init` has made.

    Payments come in by HTTP. Blocking rules answer within milliseconds; the model and the other
    rules follow a moment later and put cards on the list of alerts. Stop it with Ctrl-C: all that
    was answered is on disk.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    # a payment is a small thing: threads for it would only wait for one another
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if demo:
        folder = folder or Path("demo-desk")
        _make_world(folder, seed)
    if folder is None:
        raise click.UsageError("name the folder of a live system, or use --demo.")
    if database is not None:
        desk_extra.use_database(folder, database)
    from toprank.live.web.serving import Serving

    serving = Serving(folder, host, port, card_key, pages_only=pages_only)
    for each in serving.notes:
        screen.remark(f"note: {each}")
    feeding: list[Any] = []

    def started(address: str) -> None:
        screen.remark(f"Serving {folder} at {address} (stop with Ctrl-C).")
        if not serving.has_people:
            screen.remark(
                "Nobody has an account for its pages yet. Make the first one with:\n"
                f"  toprank users add {folder} NAME --role admin --address {address}"
            )
        if demo:
            from toprank.live.demo_world import start_paying

            feeding.append(start_paying(folder, address, seconds_per_day))
            screen.remark("Paying the first days of this world ...")
            waiting = (feeding[0], folder, address, seconds_per_day)
            threading.Thread(target=_introduce, args=waiting, daemon=True).start()

    try:
        serving.run(started)
    finally:
        for process in feeding:
            process.terminate()


def _introduce(feed: Any, folder: Path, address: str, seconds_per_day: float) -> None:
    """Say how to log in, once there are cards to look at."""
    from toprank.cli import screen
    from toprank.live.demo_world import new_links

    if not feed.stdout.readline():  # it has been stopped, and so has the server
        return
    screen.remark(f"A day of it passes in {seconds_per_day:g} s. Log in once as:")
    for name, path in new_links(folder).items():
        screen.remark(f"  {name:<14}{address}{path}", is_secret=True)
    screen.remark(
        "Begin as the investigator. The lead also sees escalated cards and the monitor; the "
        "author writes rules, the approver lets them go live, the admin adds people."
    )


def _make_world(folder: Path, seed: int) -> None:
    from toprank.cli import screen
    from toprank.live import demo_world

    if demo_world.is_world(folder):
        screen.remark(f"Using the world in {folder}; remove the folder for a new one.")
        return
    screen.remark("Making a world of cards and shops, and a model of its first two months ...")
    with screen.progress_bar() as progress:
        demo_world.make_world(folder, seed, progress=progress)
