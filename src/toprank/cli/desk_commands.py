"""`toprank desk`: make the folder of a live system, look at it, copy it."""

from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank desk init desk --model payments.toprank --capacity 50
  toprank serve desk
  toprank desk status desk
  toprank desk backup desk backups/monday        # also while it is running
  toprank desk move desk --to postgresql://toprank@db.example/desk
"""

FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group(epilog=EXAMPLES, short_help="Make the folder of a live system; copy it.")
def desk() -> None:
    """Make the folder of a live system from a fitted model, look at it, or copy it."""


@desk.command(short_help="Make the folder of a live system.")
@FOLDER
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    required=True,
    help="Model of payments, fitted with --card and --id.",
)
@click.option(
    "--capacity",
    type=click.IntRange(1),
    help="Cards that can be checked per day.  [default: the budget of the model]",
)
@click.option("--keep", default="180d", show_default=True, help="How long payments are kept.")
@click.option(
    "--clock",
    type=click.Choice(["wall", "payments"]),
    default="wall",
    show_default=True,
    help="What the time is: that of the machine, or that of the newest payment, for old files.",
)
@click.option(
    "--durability",
    type=click.Choice(["process", "power"]),
    default="process",
    show_default=True,
    help="What an answered payment survives: a killed process, or also a power failure.",
)
@click.option(
    "--card-key", type=click.Path(path_type=Path),
    help="File of the key of cards, if the model was fitted with one.",
)  # fmt: skip
@click.option(
    "--database",
    envvar="TOPRANK_DATABASE",
    help="Empty database of PostgreSQL for the data, postgresql://user@host:5432/name; also as "
    "TOPRANK_DATABASE.  [default: a file in FOLDER]",
)
def init(
    folder: Path,
    model: Path,
    capacity: int | None,
    keep: str,
    clock: str,
    durability: str,
    card_key: Path | None,
    database: str | None,
) -> None:
    """Make FOLDER for a live system that ranks with a fitted model.

    The model's history becomes the history of the live system, and its payments can be used to
    backtest rules at once. All settings are in FOLDER/desk.toml.
    """
    from toprank.cli import desk_extra, paths, screen

    desk_extra.check_installed()
    from toprank.live.desk import init_desk, model_budget
    from toprank.live.desk_settings import DeskSettings

    paths.check_inputs(model)
    settings = DeskSettings(
        capacity=capacity or model_budget(model),
        keep=keep,
        clock=clock,
        durability=durability,
        database="" if database is None else desk_extra.without_password(database, "--database"),
    )
    with screen.busy("computing the features of the model's payments"):
        init_desk(folder, model, settings, card_key=card_key)
    if database is not None and settings.database != database:
        screen.remark(desk_extra.PASSWORD_IS_NOT_KEPT)
    screen.show(
        f"{folder} is ready. Make an account for whoever looks after it, give a key to whoever "
        "sends payments, and start it:\n"
        f"  toprank users add {folder} NAME --role admin\n"
        f"  toprank keys add {folder} payments --scope payments\n"
        f"  toprank serve {folder}"
    )


@desk.command(short_help="Print what a live system contains.")
@FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(folder: Path, as_json: bool) -> None:
    """Print what the live system in FOLDER contains: payments, alerts, labels, snapshots, size."""
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.desk_summary import desk_summary

    with Desk.open(folder) as opened:
        found = desk_summary(opened)
    if as_json:
        screen.print_json(found.to_json())
    else:
        screen.show(str(found))


@desk.command(short_help="Copy a live system while it runs.")
@FOLDER
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--by", default="command line", help="Who makes the copy, for the audit.")
def backup(folder: Path, target: Path, by: str) -> None:
    """Write a whole copy of the live system in FOLDER to the new folder TARGET.

    The copy is as of one moment, also while FOLDER is being served. To restore it, serve the copy.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.desk_backup import back_up

    with Desk.open(folder) as opened:
        n_bytes = back_up(opened, target, f"person:{by}")
    screen.show(f"{target} is a copy of {folder}, {n_bytes / 1e6:,.1f} MB.")


@desk.command(short_help="Move the data of a live system to PostgreSQL.")
@FOLDER
@click.option(
    "--to",
    "database",
    required=True,
    envvar="TOPRANK_DATABASE",
    help="Empty database of PostgreSQL, postgresql://user@host:5432/name; also as "
    "TOPRANK_DATABASE.",
)
@click.option("--by", default="command line", help="Who moves them, for the audit.")
def move(folder: Path, database: str, by: str) -> None:
    """Move the data of the live system in FOLDER to an empty database of PostgreSQL.

    Stop the server first. All data are copied in one step and compared, the audit included; if
    anything fails, FOLDER is as it was. Models, snapshots and archive stay in FOLDER.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    address = desk_extra.without_password(database, "--to")
    from toprank.live.desk_move import MOVED, DeskMove

    with DeskMove(folder, database) as moving, screen.progress_bar() as progress:
        moved = moving.run(f"person:{by}", progress)
    screen.show(
        f"{moved.n_rows:,} rows of {folder} are now in {address}; its audit of "
        f"{moved.audit.n_entries:,} entries was verified there.\n"
        f"{folder / MOVED} has the data as they were; remove it when all works as before."
    )
    if address != database:
        screen.remark(desk_extra.PASSWORD_IS_NOT_KEPT)


@desk.command(short_help="Write a snapshot and remove what is too old.")
@FOLDER
def upkeep(folder: Path) -> None:
    """Write a snapshot and the archive of FOLDER, and remove what is older than it keeps.

    A running server does this by itself.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.upkeep import keep_up

    with Desk.open(folder) as opened:
        purged = keep_up(opened)
        kept = opened.settings.keep
    screen.show(
        f"removed {purged.n_payments:,} payments, {purged.n_archived:,} archived ones and "
        f"{purged.n_alerts:,} alerts that are older than {kept}."
    )
