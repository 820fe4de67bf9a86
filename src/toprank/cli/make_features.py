"""`toprank features`: features of payments that do not fit memory, from files into a folder."""

from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank features "payments/*.parquet" --label is_fraud --time paid_at --card card \\
    --terminal shop --amount amount --id id -o features
  toprank fit features --label is_fraud --budget 100 -o payments.toprank
  toprank rank payments.toprank features -o alerts.csv
"""
_LONGEST_DELAY = 36_525  # days


@click.command(
    name="features", epilog=EXAMPLES, short_help="Compute features of rows that exceed memory."
)
@click.argument("data", type=click.Path())
@click.option("--label", required=True, help="Column that says which rows are positive.")
@click.option(
    "--positive",
    help="Value of the label to rank first.  [default: 1, yes, fraud, or the less frequent one]",
)
@click.option("--time", required=True, help="Column of times.")
@click.option("--card", required=True, help="Column of cards, accounts or customers.")
@click.option("--terminal", required=True, help="Column of terminals, shops or payees.")
@click.option("--amount", required=True, help="Column of amounts.")
@click.option(
    "--id", "row_id", help="Column of ids: a payment that comes again on the same day counts once."
)
@click.option(
    "--delay", default=7, show_default=True, type=click.IntRange(1, _LONGEST_DELAY),
    help="Days after which labels are known.",
)  # fmt: skip
@click.option(
    "--features", type=click.Path(path_type=Path),
    help="JSON file of features, in place of the default ones.",
)  # fmt: skip
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--memory", default=4.0, show_default=True, type=click.FloatRange(1),
    help="Gigabytes of memory to use at most; with more, the rows are gone through less often.",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write."
)
def make_features(
    data: str,
    label: str,
    positive: str | None,
    time: str,
    card: str,
    terminal: str,
    amount: str,
    row_id: str | None,
    delay: int,
    features: Path | None,
    drop: tuple[str, ...],
    memory: float,
    output: Path,
) -> None:
    """Compute what each card and terminal in DATA did before, without loading all rows.

    DATA is a Parquet file, a folder of them or a pattern in quotes; the rows may be in any order.
    The folder that is written has one file per day, with the columns of DATA and the features:
    those that `toprank fit --card` computes in memory. `fit` and `rank` take the folder as their
    DATA.

    If the command is ended, the same command resumes it. Where the folder is finished, only files
    that are new are read, and their days are added.
    """
    from toprank.cli import paths, screen

    _check_columns(label, [time, card, terminal, amount, row_id], drop)
    _check_output(output)
    paths.check_inputs(features)
    from toprank.cli.fit import features_in
    from toprank.payments import feature_folder
    from toprank.payments.roles import Roles

    settings = feature_folder.FolderSettings(
        Roles(time, card, terminal, amount, row_id),
        label,
        f"{delay}d",
        positive,
        tuple(drop),
        None if features is None else tuple(features_in(features)),
    )
    with screen.progress_bar() as progress:
        made = feature_folder.make_features(
            data, output, settings, gigabytes=memory, progress=progress
        )
    screen.remark(_what_was_done(made, output))


def _check_columns(label: str, roles: list[str | None], drop: tuple[str, ...]) -> None:
    """Raise unless each role has a column of its own, and none of them is left out."""
    named = [name for name in (label, *roles) if name is not None]
    if len(set(named)) < len(named):
        raise click.UsageError(
            "--label, --time, --card, --terminal, --amount and --id must name different columns; "
            f"got {', '.join(named)}."
        )
    for name in drop:
        if name in named:
            raise click.UsageError(
                "--drop must not name a column of --label, --time, --card, --terminal, --amount "
                f"or --id; got {name!r}."
            )


def _check_output(output: Path) -> None:
    """Raise unless the folder is new, empty, or one that this command writes."""
    from toprank.payments.feature_folder import FeatureFolder

    if output.exists() and not output.is_dir():
        raise click.UsageError(f"-o must name a folder; {output} is a file.")
    if not output.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {output.parent} to make {output.name} in.")
    if output.is_dir() and any(output.iterdir()) and not FeatureFolder.is_at(output):
        raise click.UsageError(
            f"{output} has other files and no features; name an empty or a new folder with -o."
        )


def _what_was_done(made: Any, output: Path) -> str:
    from toprank.wording import plural

    folder = made.folder
    n_days = len(folder.days)
    if not made.n_new_days:
        return f"{output} has the features of all files already; nothing was done."
    begun = "Resumed and wrote" if made.was_resumed else "Wrote"
    line = (
        f"{begun} {output}: {made.n_new_rows:,} {plural('payment', made.n_new_rows)} of "
        f"{made.n_new_days:,} {plural('day', made.n_new_days)}, each with "
        f"{len(folder.settings.history().names)} features"
    )
    if made.n_new_days < n_days:
        line += f"; it now has {n_days:,} days"
    if folder.n_repeated:
        line += f"; {folder.n_repeated:,} payments came again with a known id and count once"
    return f"{line}."
