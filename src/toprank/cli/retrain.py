"""`toprank retrain`: a challenger for the model of a live system."""

from pathlib import Path

import click

from toprank.cli import desk_actor

EXAMPLES = """
\b
Examples:
  toprank retrain desk --by anna                   # also while it is being served
  toprank retrain desk --minutes 30 --effort quick
  toprank retrain desk --without mallory           # leave out what mallory said
  toprank models promote desk 2 --by ben           # needs a second person
"""


@click.command(epilog=EXAMPLES, short_help="Learn from a live system's payments and labels.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True),
    help="Most minutes to learn for.  [default: as the model in use was fitted]",
)  # fmt: skip
@click.option(
    "--effort", type=click.Choice(["quick", "normal", "thorough"]),
    help="How much to try.  [default: as the model in use was fitted]",
)  # fmt: skip
@click.option(
    "--without", multiple=True, metavar="PERSON",
    help="Person whose verdicts do not count, as if they had not been given; repeatable.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores but one]")
@click.option("--by", help="Person who asks for it, for the audit.  [default: your login name]")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def retrain(
    folder: Path,
    minutes: float | None,
    effort: str | None,
    without: tuple[str, ...],
    jobs: int | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Learn from all payments and labels that the live system in FOLDER has by now.

    The new model is the challenger: it is compared with the model in use on the latest matured
    days, and a running server scores payments with it, without effect. It takes over when a second
    person promotes it. A training that was interrupted is completed by running it again.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.learning.model_words import model_facts, model_lines
    from toprank.live.learning.retraining import give_way, spare_cores
    from toprank.live.learning.retraining import retrain as learn_again

    give_way()
    with Desk.open(folder) as desk, screen.progress_bar() as progress:
        model = learn_again(
            desk, desk_actor.actor(by), minutes=minutes, effort=effort,
            n_jobs=jobs or spare_cores(), progress=progress,
            without=[desk_actor.actor(each) for each in without],
        )  # fmt: skip
    if as_json:
        screen.print_json(model_facts(model))
    else:
        screen.show("\n".join(model_lines(model)))
    screen.remark(
        f"Model {model.number} is the challenger. To let it rank: toprank models promote {folder} "
        f"{model.number} --by NAME"
    )
