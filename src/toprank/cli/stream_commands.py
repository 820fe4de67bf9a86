"""`toprank streams`: how far a desk has read its streams, and what it could not take in."""

from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank streams desk
  toprank streams desk --rejects 100 --json
"""


@click.command(epilog=EXAMPLES, short_help="Print how far a desk has read its streams.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--rejects",
    default=20,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="Most messages that could not be taken in to list, the newest first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def streams(folder: Path, rejects: int, as_json: bool) -> None:
    """Print how far the desk in FOLDER has read and written its streams.

    These are the settings payments_from, labels_from, decisions_to and alerts_to in desk.toml.
    Messages that could not be taken in follow, each with its place and the reason; what is in them
    stays at the broker.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.cli.desk_actor import minute_text
    from toprank.live.desk_settings import DeskSettings
    from toprank.live.store import stream_position_table, stream_reject_table
    from toprank.live.store.desk_database import Database
    from toprank.live.streams.desk_streams import addresses
    from toprank.wording import aligned

    database = Database.open(folder)
    settings = {each.shown: name for name, each in addresses(DeskSettings.read(folder)).items()}
    with database.reading() as connection:
        places = stream_position_table.all_streams(connection)
        counts = stream_reject_table.counts(connection)
        found = stream_reject_table.newest(connection, rejects)
    rows = [
        {
            "stream": stream,
            "setting": settings.get(stream),
            "partition": partition,
            "position": position,
            "rejected": counts.get(stream, 0),
        }
        for stream, partition, position in places
    ]
    read = {stream for stream, _, _ in places}
    for stream, name in settings.items():
        if stream not in read:
            rows.append({"stream": stream, "setting": name, "partition": None, "position": None,
                         "rejected": counts.get(stream, 0)})  # fmt: skip
    listed = [each._asdict() | {"at": minute_text(each.at)} for each in found]
    if as_json:
        screen.print_json({"streams": rows, "rejects": listed})
        return
    if not rows:
        screen.remark(
            f"{folder} has no streams. Name them in {folder}/desk.toml, such as:\n"
            '  payments_from = "nats://localhost:4222/payments"'
        )
        return
    cells = [["-" if cell is None else str(cell) for cell in row.values()] for row in rows]
    screen.show(aligned([["stream", "setting", "partition", "position", "rejected"], *cells]))
    for each in listed:
        screen.show(
            f"{each['at']}  {each['stream']}, partition {each['partition']}, offset "
            f"{each['position']}: {each['reason']}"
        )
