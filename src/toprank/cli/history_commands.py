"""`toprank history`: what a model remembers, and the way back from a change."""

from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank history show payments.toprank
  toprank history restore payments.toprank     # undo the last rank --remember, or a purge
"""

_MODEL = click.argument("model", type=click.Path(path_type=Path))
_HISTORY = click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of the model.  [default: the one next to it]",
)  # fmt: skip


@click.group(epilog=EXAMPLES, short_help="Show what a model remembers; undo a change.")
def history() -> None:
    """Show what the history of a model fitted with --card remembers, or undo its last change."""


@history.command(short_help="Print what is remembered.")
@_MODEL
@_HISTORY
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(model: Path, history: Path | None, as_json: bool) -> None:
    """Print what the history of MODEL contains: payments, cards, labels, snapshots, size."""
    from toprank.cli import paths, screen
    from toprank.payments.history_summary import history_summary

    paths.check_inputs(model)
    with paths.opened_model(model, history) as payments:
        _check_has_history(payments, model)
        found = history_summary(payments.state_, payments.card)
    if as_json:
        screen.print_json(found.to_json())
    else:
        screen.show(_text(found, model))


@history.command(short_help="Undo the last change.")
@_MODEL
@_HISTORY
def restore(model: Path, history: Path | None) -> None:
    """Undo the last change of the history of MODEL, and print what it was.

    A change is what one `toprank rank --remember` or one checkpoint of `toprank stream` added, or
    a purge. Run it again to undo the one before, as far as the snapshots on disk go back. Labels
    stay: correct a label with `toprank label`. Payments that have a label by now are not undone.
    """
    from toprank.cli import paths, screen

    paths.check_inputs(model)
    with paths.opened_model(model, history, for_writing=True) as payments:
        _check_has_history(payments, model)
        change = payments.state_.restore()
        times = change.times(payments.state_.history)
    if change.kind == "purge":
        screen.remark("Undid a purge: what it removed is back.")
        return
    screen.remark(
        f"Undid {change.n_rows:,} remembered rows, {_at(times.min())} to {_at(times.max())}."
    )


def _check_has_history(payments: Any, model: Path) -> None:
    if payments.state_ is None:
        raise ValueError(f"{model.name} was fitted without --card and has no history.")


def _text(found: Any, model: Path) -> str:
    """Return the summary as lines for a person."""
    from toprank.present import summary

    labels = f"{found.n_labels:,} in the ledger"
    if found.n_unlabelled is not None:
        labels += f"; {found.n_unlabelled:,} rows have no label yet"
    snapshots = [
        f"{each.number}, {_words(each.written)} UTC, {_megabytes(each.n_bytes)} with its log"
        for each in found.snapshots
    ]
    since = "" if found.events_since is None else f", since {_words(found.events_since)}"
    rows = [
        ["rows", f"{found.n_rows:,}{_span(found.first, found.last)}"],
        ["cards", "unknown" if found.n_cards is None else f"{found.n_cards:,}"],
        ["events", f"{found.n_events:,} for features{since}"],
        ["labels", labels],
        ["size", _megabytes(found.n_bytes)],
        *(["snapshot", each] for each in snapshots),
        ["last change", _change(found.last_change)],
    ]
    lines = [found.folder, summary.aligned(rows)]
    if found.last_change is not None:
        lines.append(f"To undo the last change: toprank history restore {model}")
    return "\n".join(lines)


def _change(change: Any) -> str:
    if change is None:
        return "none that can be undone"
    if change.kind == "purge":
        return "a purge"
    return f"{change.n_rows:,} rows{_span(change.first, change.last)}"


def _span(first: str | None, last: str | None) -> str:
    return "" if first is None or last is None else f", {_words(first)} to {_words(last)}"


def _words(moment: str) -> str:
    return moment.replace("T", " ")


def _at(moment: Any) -> str:
    return _words(str(moment.astype("datetime64[s]")))


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"
