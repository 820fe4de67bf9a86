"""`toprank refit`: a new version of a payment model from its own history and ledger."""

from pathlib import Path
from typing import Any

import click

from toprank.cli import log_lines

EXAMPLES = """
\b
Examples:
  toprank refit payments.toprank               # a new version next to the old one, compared
  toprank refit payments.toprank --promote     # the newest version becomes the current one
  toprank refit payments.toprank --rollback    # the previous version is current again
"""


@click.command(epilog=EXAMPLES, short_help="Learn again from the history and its labels.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of the model.  [default: the one next to it]",
)  # fmt: skip
@click.option(
    "--silence", default="30d", show_default=True,
    help="Time after which a payment without a label counts as genuine.",
)  # fmt: skip
@click.option("--promote", "is_promoted", is_flag=True, help="Make the newest version current.")
@click.option(
    "--version", type=click.IntRange(1), help="With --promote: the version to make current."
)
@click.option(
    "--rollback", "is_rolled_back", is_flag=True, help="Make the previous version current again."
)
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True),
    help="Most minutes to learn for.  [default: as fitted]",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def refit(
    model: Path,
    history: Path | None,
    silence: str,
    is_promoted: bool,
    version: int | None,
    is_rolled_back: bool,
    minutes: float | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Learn from all payments and labels that the history of MODEL has by now.

    The new version is written next to MODEL, as payments.v2.toprank, and compared with it on the
    latest matured days: days all of whose payments have a label or are older than --silence. Rows
    known by a verdict alone are left out of the comparison, since the current version chose what
    was checked. MODEL itself stays as it is until --promote, and every version is kept.
    """
    from toprank.cli import paths

    if is_promoted and is_rolled_back:
        raise click.UsageError("--promote and --rollback must not be given together.")
    if version is not None and not is_promoted:
        raise click.UsageError("--version must come with --promote: it names what to promote.")
    paths.check_inputs(model)
    from toprank.payments import versions

    if is_promoted:
        _report(versions.promote(model, version), model)
    elif is_rolled_back:
        _report(versions.rollback(model), model)
    else:
        _refit(model, history, silence, minutes, jobs, as_json)


def _refit(
    path: Path,
    history: Path | None,
    silence: str,
    minutes: float | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    from toprank.cli import paths, screen
    from toprank.payments.model_files import write_next_version
    from toprank.payments.new_version import LEAST_DAYS, LEAST_POSITIVES
    from toprank.payments.new_version import refit as refitted

    with paths.opened_model(path, history) as payments:
        if minutes is not None:
            payments.time_limit = 60 * minutes
        payments.n_jobs = -1 if jobs is None else jobs
        with screen.progress_bar() as progress:
            outcome = refitted(payments, silence=silence, progress=progress)
        number, written = write_next_version(outcome.model, path)
    log_lines.report(model_version=number)
    if outcome.comparison is None and as_json:
        screen.print_json({"version": number, "compared": False})
    elif outcome.comparison is None:
        screen.show(
            f"Version {number} learned from rows up to {_day(outcome.model)}, the current one up "
            f"to {_day(payments)}: fewer than {LEAST_DAYS} days with {LEAST_POSITIVES} frauds "
            "have matured since, too few to compare the two."
        )
    elif as_json:
        screen.print_json(_facts(outcome.comparison, number))
    else:
        for line in _lines(outcome.comparison, number, payments.budget):
            screen.show(line)
    screen.remark(
        f"Wrote {written}, which has learned from rows up to {_day(outcome.model)}. To make it "
        f"current: toprank refit {path} --promote"
    )


def _lines(compared: Any, number: int, budget: int) -> list[str]:
    """Return the comparison in words."""
    from toprank.present import summary

    ap, cards = compared.average_precision, compared.cards_found
    return [
        f"Compared on {compared.n_rows:,} payments of {compared.first_day} to "
        f"{compared.last_day}, {compared.n_positives:,} of them fraud:",
        summary.aligned(
            [
                ["", "AP", f"cards found in {budget:,} checks per day"],
                ["current", str(compared.old.average_precision), _count(compared.old)],
                [f"version {number}", str(compared.new.average_precision), _count(compared.new)],
                ["difference", f"{ap.difference:+.3f} ({ap.low:+.3f} to {ap.high:+.3f})",
                 f"{cards.difference:+.2f} ({cards.low:+.2f} to {cards.high:+.2f})"],
            ]
        ),
        f"The difference in AP is {_verdict(ap)}, that in cards found is {_verdict(cards)}.",
        *(
            [f"{compared.n_verdicts_alone:,} payments known by a verdict alone were left out."]
            if compared.n_verdicts_alone
            else []
        ),
    ]  # fmt: skip


def _day(model: Any) -> str:
    until = model.learned_until
    return "an unknown day" if until is None else str(until.astype("datetime64[D]"))


def _count(figures: Any) -> str:
    return f"{figures.cards_found:.1f}"


def _verdict(ahead: Any) -> str:
    return "significant" if ahead.low > 0 or ahead.high < 0 else "not significant"


def _facts(compared: Any, number: int) -> dict[str, Any]:
    """Return the comparison in plain values."""

    def figures(each: Any) -> dict[str, Any]:
        interval = each.average_precision._asdict()
        return {"average_precision": interval, "cards_found": each.cards_found}

    return {
        "version": number,
        "compared": True,
        "first_day": str(compared.first_day),
        "last_day": str(compared.last_day),
        "rows": compared.n_rows,
        "positives": compared.n_positives,
        "left_out_verdicts_alone": compared.n_verdicts_alone,
        "current": figures(compared.old),
        "new": figures(compared.new),
        "average_precision": compared.average_precision._asdict(),
        "cards_found": compared.cards_found._asdict(),
    }


def _report(promoted: Any, model: Path) -> None:
    from toprank.cli import screen

    screen.remark(
        f"Version {promoted.version} of {model.name} is the current one now; version "
        f"{promoted.before} is kept next to it."
    )
