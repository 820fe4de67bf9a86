"""`toprank stream`: events scored as they come, labels learned from when they arrive."""

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

import click
from click.core import ParameterSource

from toprank.cli import screen
from toprank.cli.stream_input import (
    BadLineError,
    CsvEvents,
    Fields,
    JsonEvents,
    Mark,
    label_of,
    lines_of,
    pass_over,
)
from toprank.cli.stream_run import Output, Run, Source, stopped_between_lines

EXAMPLES = """
\b
Examples:
  toprank stream events.ndjson --model live.toprank -o scores.ndjson
  tail -f events.ndjson | toprank stream --model live.toprank --label is_fraud --ignore paid_at
  toprank stream events.csv --model live.toprank --positive-label fraud --class-weight balanced
  feed | toprank stream - --model live.toprank --drift adwin --checkpoint-every 1000

\b
Lines in:
  {"id": "a1", "amount": 9.5, "country": "FR"}                  scored; waits for its label
  {"id": "a1", "label": 1}                                      that label: learned from
  {"id": "a2", "amount": 12, "country": "DE", "label": 0}       scored, then learned from
Lines out:
  {"id": "a1", "suspicion": -3.1, "probability": 0.04, "alert": false}
  {"id": "a3", "suspicion": 1.9, "probability": 0.87, "alert": true, "reasons": {"amount": 2.2}}
"""
_STDIN = "-"


@click.command(epilog=EXAMPLES, short_help="Score events as they come, learn as labels arrive.")
@click.argument("events", default=_STDIN)
@click.option(
    "--model", required=True, type=click.Path(path_type=Path),
    help="Model file: one that toprank fit wrote scores the events; otherwise an online learner, "
    "which is resumed, or started if the file is not there.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File for the scores, resumed as well.  [default: stdout]",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(("ndjson", "csv")),
    help="Format of EVENTS.  [default: csv for a file in .csv, else ndjson]",
)  # fmt: skip
@click.option("--id", "event_id", default="id", show_default=True, help="Field of ids.")
@click.option("--label", default="label", show_default=True, help="Field of labels.")
@click.option("--ignore", multiple=True, help="Field that is no feature; may be repeated.")
@click.option(
    "--threshold", default=0.5, show_default=True, type=click.FloatRange(0, 1),
    help="From this probability on, a row is an alert.",
)  # fmt: skip
@click.option(
    "--window", default=10_000, show_default=True, type=click.IntRange(1),
    help="Labelled rows that the metrics look back on.",
)  # fmt: skip
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Of those, how many could be checked.",
)  # fmt: skip
@click.option(
    "--reasons", "n_reasons", default=3, show_default=True, type=click.IntRange(0),
    help="Columns that raised the score most, of each alert.",
)  # fmt: skip
@click.option("--positive-label", help="The suspicious label.  [default: 1 or true]")
@click.option("--class-weight", type=click.Choice(("balanced",)), help="Let rare labels count.")
@click.option(
    "--loss", default="log", show_default=True, type=click.Choice(("log", "ap")),
    help="ap learns the top of the list at the cost of its bottom.",
)  # fmt: skip
@click.option(
    "--learning-rate", default=0.1, show_default=True,
    type=click.FloatRange(0, min_open=True), help="Length of the steps.",
)  # fmt: skip
@click.option(
    "--drift", type=click.Choice(("adwin", "page-hinkley")),
    help="Watch for changes; needs River.  [default: no]",
)  # fmt: skip
@click.option(
    "--on-drift", default="raise-rate", show_default=True,
    type=click.Choice(("raise-rate", "renew-worst", "none")), help="What a change does.",
)  # fmt: skip
@click.option(
    "--checkpoint-every", default=10_000, show_default=True, type=click.IntRange(1),
    help="Lines between checkpoints.",
)  # fmt: skip
@click.option(
    "--skip-seen", is_flag=True,
    help="Of stdin: pass over what was read before, since all events are sent again.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Stop at the first bad line.")
@click.option("--verbose", is_flag=True, help="Report each checkpoint.")
def stream(
    events: str,
    model: Path,
    output: Path | None,
    form: str | None,
    event_id: str,
    label: str,
    ignore: tuple[str, ...],
    checkpoint_every: int,
    skip_seen: bool,
    strict: bool,
    verbose: bool,
    **settings: Any,
) -> None:
    """Score EVENTS as they come and take in their labels, which may come late.

    EVENTS is a file or - for stdin: NDJSON with one object per line, or CSV with a header and one
    row per line. Each row gives a line with its suspicion, its probability and whether it is an
    alert. A line with an id, a label and nothing else is the label of an earlier row. Bad lines
    are reported, counted and skipped.

    A model that `toprank fit` wrote scores the events and does not change; with --card, each
    payment is remembered for those after it, and labels reach the ledger and the features. Any
    other model is an online learner: rows are pending until their label comes, and are learned
    from then.

    Everything is saved in one step every so many lines, at the end, on Ctrl-C (exit code 130) and
    on SIGTERM (143): the online learner in its model file, payments in the history. Started
    again, even after kill -9, the same file is resumed where it was saved, and another one is
    read from its start. FILE of -o is then cut back to that place, so that each row is in it
    once; on stdout, rows since the last checkpoint come again.
    """
    from toprank.payments.payment_stream import PaymentStream

    fields = _checked_fields(event_id, label, ignore)
    _check_files(events, model, output, skip_seen)
    with ExitStack() as open_files:
        open_files.enter_context(_alone_with(model.resolve()))
        _clear_leftovers(model.resolve())
        running = _opened_stream(open_files, model, settings)
        if isinstance(running, PaymentStream):
            fields = _fields_of(running, fields)
        source = _opened_input(open_files, events, form, fields, running.position, skip_seen)
        target = _opened_output(open_files, output, model, running.position, source.is_live)
        stopper = open_files.enter_context(stopped_between_lines())
        if not isinstance(running, PaymentStream):
            with screen.busy("getting ready"):
                _compile()
        run = Run(running, source, target, _saving(running, model), checkpoint_every, verbose)
        run.to_the_end(stopper, strict)
    screen.remark(run.summary())
    if not running.n_labelled and not isinstance(running, PaymentStream):
        screen.remark(_no_label(label, running.learner))
    if stopper.signal:
        screen.remark(f"stopped; all that was read is saved in {model}.")
        sys.exit(128 + stopper.signal)


# The model


@contextmanager
def _alone_with(model: Path) -> Iterator[None]:
    """Hold a lock beside the model file, which goes with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    path = model.with_name(f".{model.name}.lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{model.name} is in use by another toprank stream; stop that one first, or name "
                "another file with --model."
            ) from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _compile() -> None:
    """Let the kernels be compiled now, which takes a while once, and not at the first event."""
    from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost

    learner = OnlineNonLinearBoost(n_learners=1, n_latents=1, n_buckets=1)
    for is_positive in (False, True):
        learner.learn_one({"x": 1.0}, is_positive)
    learner.score_one({"x": 1.0})


def _no_label(label: str, learner: Any) -> str:
    from toprank.data.checks import nearest_name

    names = learner.model_.columns.names if hasattr(learner, "model_") else []
    return f"No label has come yet; they are read from the field {label!r}" + (
        nearest_name(label, names) or "."
    )


def _clear_leftovers(model: Path) -> None:
    """Remove what a kill left of a model that was being saved."""
    for path in model.parent.glob(f".{escape(model.name)}.{'[0-9a-f]' * 16}.part"):
        path.unlink(missing_ok=True)


def _saving(running: Any, model: Path) -> Callable[[], None]:
    """Return what saves a stream: to its model file, or with the history of a payment model."""
    from toprank import files

    if hasattr(running, "checkpoint"):
        return running.checkpoint
    return lambda: files.save(running, model)


def _payment_stream(open_files: ExitStack, model: Path, settings: dict[str, Any]) -> Any:
    """Return the stream of a model that `toprank fit` wrote."""
    from toprank.cli import paths
    from toprank.payments.payment_stream import PaymentStream

    for name in ("positive_label", "class_weight", "loss", "learning_rate", "drift", "on_drift"):
        if not _is_default(name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} must be left out: {model.name} was fitted by "
                "toprank fit, and does not change as labels arrive."
            )
    payments = open_files.enter_context(paths.opened_model(model, for_writing=True))
    budget = payments.budget if _is_default("budget") else settings["budget"]
    return PaymentStream(
        payments,
        window=settings["window"],
        budget=min(budget, settings["window"]),
        threshold=settings["threshold"],
        n_reasons=settings["n_reasons"],
    )


def _fields_of(running: Any, fields: Fields) -> Fields:
    """Return the fields of a payment model's stream: those it was fitted with, unless named."""
    model = running.model
    keys = {name for name in (model.card, model.terminal, model.row_id) if name is not None}
    return fields._replace(
        event_id=(model.row_id or fields.event_id) if _is_default("event_id") else fields.event_id,
        label=model.label_column if _is_default("label") else fields.label,
        texts=frozenset(keys),
    )


def _is_fitted(model: Path) -> bool:
    """Return whether `toprank fit` wrote the file: it notes the column of labels."""
    from toprank import files

    return isinstance(files.read_manifest(model)["facts"].get("label"), str)


def _opened_stream(open_files: ExitStack, model: Path, settings: dict[str, Any]) -> Any:
    """Return the stream of a model file, or a new one."""
    from toprank import files
    from toprank.rankers.online.booster import OnlineBooster
    from toprank.rankers.online.event_stream import EventStream
    from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost

    if model.exists() and _is_fitted(model):
        return _payment_stream(open_files, model, settings)
    named = settings["positive_label"]
    settings = settings | {"positive_label": None if named is None else label_of(named)}
    if _is_default("budget"):
        settings["budget"] = min(settings["budget"], settings["window"])
    own = {
        name: settings.pop(name)
        for name in ("positive_label", "class_weight", "loss", "learning_rate")
    }
    if not model.exists():
        return EventStream(OnlineNonLinearBoost(**own), **settings)
    found = files.load(model)
    if isinstance(found, OnlineBooster):
        found = EventStream(found, **settings)
    if not isinstance(found, EventStream):
        raise ValueError(
            f"{model.name} must hold an online learner or a stream of one; got "
            f"{type(found).__name__}; name a new file with --model."
        )
    _check_begun_with(found, own, settings, model)
    return found


def _check_begun_with(
    found: Any, own: dict[str, Any], settings: dict[str, Any], model: Path
) -> None:
    """Take over what may change; raise for what was given otherwise and cannot be changed."""
    given = {name: value for name, value in (own | settings).items() if not _is_default(name)}
    found.threshold = given.pop("threshold", found.threshold)
    found.n_reasons = given.pop("n_reasons", found.n_reasons)
    begun = {
        **found.learner.get_params(deep=False),
        "window": found.window.size,
        "budget": found.window.budget,
        "drift": found.drift,
        "on_drift": found.on_drift,
    }
    for name, value in given.items():
        if begun.get(name) != value:
            option = name.replace("_", "-")
            raise ValueError(
                f"--{option} must be that of {model.name}, {begun.get(name)!r}; got {value!r}; "
                "leave it out, or name a new file with --model."
            )


def _is_default(option: str) -> bool:
    context = click.get_current_context()
    return context.get_parameter_source(option) == ParameterSource.DEFAULT


# Input and output


def _checked_fields(event_id: str, label: str, ignore: tuple[str, ...]) -> Fields:
    if event_id == label or event_id in ignore or label in ignore:
        raise click.UsageError(
            f"--id, --label and --ignore must name different fields; got {event_id!r}, "
            f"{label!r} and {', '.join(map(repr, ignore)) or 'none'}."
        )
    return Fields(event_id, label, ignore)


def _check_files(events: str, model: Path, output: Path | None, skip_seen: bool) -> None:
    """Raise unless all files differ and can be written, before any event is read."""
    from toprank.cli import paths

    if skip_seen and Path(events).is_file():
        raise click.UsageError("--skip-seen must come with stdin; a file is gone on with anyway.")
    named = [path for path in (model, output) if path is not None]
    if output is not None and output.resolve() == model.resolve():
        raise click.UsageError("-o and --model must name different files.")
    for path in named:
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} must be a file; it is something else.")
        paths.check_output(path, Path(events))


def _opened_input(
    open_files: ExitStack,
    events: str,
    form: str | None,
    fields: Fields,
    position: dict[str, Any],
    skip_seen: bool,
) -> Source:
    """Return the events from where the checkpoint says they go on."""
    opened = _opened(open_files, events)
    is_regular = _is_regular(opened)
    lines, mark = lines_of(opened, Mark()), Mark()
    parser: JsonEvents | CsvEvents = JsonEvents(fields)
    if form == "csv" or (form is None and Path(events).suffix.lower() == ".csv"):
        header, mark = next(lines, (b"", mark))
        parser = _csv_events(header, fields, events)
    seen = Mark.noted(position.get("input")) or Mark()
    if seen.n_bytes and skip_seen:
        pass_over(lines, mark, seen)
        mark = seen
    elif seen.n_bytes and is_regular:
        mark = _found_again(opened, mark, seen, events)
        lines = lines_of(opened, mark)
    return Source(parser, lines, mark, is_live=not is_regular)


def _opened(open_files: ExitStack, events: str) -> BinaryIO:
    if events == _STDIN:
        return sys.stdin.buffer
    return open_files.enter_context(Path(events).open("rb"))


def _is_regular(opened: BinaryIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):
        return False


def _found_again(opened: BinaryIO, start: Mark, seen: Mark, events: str) -> Mark:
    """Return where the file goes on, and let it stand there: at the start if it is another."""
    if seen.n_bytes > start.n_bytes and seen.is_in(opened):
        return seen
    if seen.n_bytes > start.n_bytes:
        screen.remark(f"note: {events} is not the input of before; it is read from its start.")
    opened.seek(start.n_bytes)
    return start


def _csv_events(header: bytes, fields: Fields, events: str) -> CsvEvents:
    """Return the reader of a CSV, whose header has the fields that were named."""
    from toprank.data import checks

    if not header.strip():
        raise ValueError(f"{events} must begin with a line of column names; it has none.")
    try:
        parser = CsvEvents(fields, header)
    except BadLineError as error:
        raise ValueError(f"the header of {events} is of no use: {error}") from error
    for option, name in (("event_id", fields.event_id), ("label", fields.label)):
        if not _is_default(option) and name not in parser.names:
            hint = checks.nearest_name(name, parser.names)
            raise ValueError(f"column {name!r} is not in {events}{hint or '.'}")
    return parser


def _opened_output(
    open_files: ExitStack,
    output: Path | None,
    model: Path,
    position: dict[str, Any],
    is_live: bool,
) -> Output:
    """Return the output, a file cut back to what the checkpoint knows of it."""
    if output is None:
        return Output(None, Mark(), is_live)
    mark = Mark.noted(position.get("output"))
    if mark is None or not output.exists():
        if mark is not None:
            screen.remark(f"note: {output} is new; scores of before are not in it.")
        return Output(open_files.enter_context(output.open("wb")), Mark(), is_live)
    file = open_files.enter_context(output.open("r+b"))
    if not mark.is_in(file):
        raise ValueError(
            f"{output.name} must be the file of scores that {model.name} went on with; it is "
            "another one or has lost lines; name a new file with -o."
        )
    file.truncate(mark.n_bytes)
    file.seek(mark.n_bytes)
    return Output(file, mark, is_live)
