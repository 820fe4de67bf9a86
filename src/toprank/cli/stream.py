"""`toprank stream`: scores events as they arrive and learns from labels when they come."""

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
from toprank.cli.paths import card_key_option
from toprank.cli.stream_input import (
    BadLineError,
    CsvEvents,
    Fields,
    JsonEvents,
    Position,
    label_of,
    lines_of,
    skip_to,
)
from toprank.cli.stream_run import Names, Output, Run, Source, stopped_between_lines
from toprank.cli.table_options import table_options
from toprank.data.atomic import PRIVATE

EXAMPLES = """
\b
Examples:
  toprank stream events.ndjson --model live.toprank -o scores.ndjson
  tail -f events.ndjson | toprank stream --model live.toprank --label is_fraud --drop paid_at
  toprank stream events.csv --model live.toprank --positive stolen --class-weight balanced
  feed | toprank stream - --model live.toprank --drift adwin --checkpoint-every 1000

\b
Lines in:
  {"id": "a1", "amount": 9.5, "country": "FR"}                  scored; pending its label
  {"id": "a1", "label": 1}                                      its label: learned from
  {"id": "a2", "amount": 12, "country": "DE", "label": 0}       scored, then learned from
Lines out:
  {"id": "a1", "suspicion": -3.1, "probability": 0.04, "alert": false}
  {"id": "a3", "suspicion": 1.9, "probability": 0.87, "alert": true, "reasons": {"amount": 2.2}}
"""
_STDIN = "-"
_OF_LEARNER = {
    "positive": "positive_label",
    "class_weight": "class_weight",
    "loss": "loss",
    "learning_rate": "learning_rate",
    "seed": "random_state",
}
"""Options of the online learner, and the parameter that each sets."""


@click.command(epilog=EXAMPLES, short_help="Score events as they arrive, learn from labels.")
@click.argument("events", default=_STDIN)
@click.option(
    "--model", required=True, type=click.Path(path_type=Path),
    help="Model file. One written by toprank fit scores the events; any other is an online "
    "learner, which is resumed, or started if the file does not exist.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File to write the scores to; resumed as well.  [default: stdout]",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(("ndjson", "csv")),
    help="Format of EVENTS.  [default: csv for a file that ends in .csv, else ndjson]",
)  # fmt: skip
@click.option(
    "--id", "event_id", default="id", show_default=True,
    help="Field of ids, by which later labels find their row.",
)  # fmt: skip
@click.option("--label", default="label", show_default=True, help="Field of labels.")
@click.option(
    "--positive",
    help="Value of the label to rank first; required where no label is 1, true, yes or fraud.",
)
@click.option("--drop", multiple=True, help="Field to exclude from the features; may be repeated.")
@click.option(
    "--threshold", default=0.5, show_default=True, type=click.FloatRange(0, 1),
    help="Lowest probability, from 0 to 1, at which a row is an alert.",
)  # fmt: skip
@click.option(
    "--window", default=10_000, show_default=True, type=click.IntRange(1),
    help="Number of last labelled rows that the metrics cover.",
)  # fmt: skip
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Checks per window: precision and recall are those of this many rows.",
)  # fmt: skip
@click.option(
    "--reasons", "n_reasons", default=3, show_default=True, type=click.IntRange(0),
    help="Reasons per alert: the columns that raise its score most.",
)  # fmt: skip
@click.option(
    "--class-weight", type=click.Choice(("balanced",)),
    help="Give both classes the same total weight, however rare one is.",
)  # fmt: skip
@click.option(
    "--loss", default="log", show_default=True, type=click.Choice(("log", "ap")),
    help="Loss to minimise; ap favours the top of the list at the cost of its bottom.",
)  # fmt: skip
@click.option(
    "--learning-rate", default=0.1, show_default=True,
    type=click.FloatRange(0, min_open=True), help="Size of the learning steps.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
@click.option(
    "--drift", type=click.Choice(("adwin", "page-hinkley")),
    help="Detector of changes; requires River.  [default: none]",
)  # fmt: skip
@click.option(
    "--on-drift", default="raise-rate", show_default=True,
    type=click.Choice(("raise-rate", "renew-worst", "none")),
    help="Reaction to a change: a higher learning rate, or new networks for the worst ones.",
)  # fmt: skip
@click.option(
    "--checkpoint-every", default=10_000, show_default=True, type=click.IntRange(1),
    help="Number of lines between checkpoints.",
)  # fmt: skip
@click.option(
    "--skip-seen", is_flag=True,
    help="With stdin: skip what was read before, for a source that sends all events again.",
)  # fmt: skip
@card_key_option
@table_options("EVENTS")
@click.option("--strict", is_flag=True, help="Stop at the first bad line.")
@click.option("--verbose", is_flag=True, help="Report each checkpoint.")
def stream(
    events: str,
    model: Path,
    output: Path | None,
    form: str | None,
    event_id: str,
    label: str,
    drop: tuple[str, ...],
    checkpoint_every: int,
    skip_seen: bool,
    strict: bool,
    verbose: bool,
    reading: Callable[[], Any],
    **settings: Any,
) -> None:
    """Score EVENTS as they arrive and take in their labels, which may come late.

    EVENTS is a file or - for stdin: NDJSON with one object per line, or CSV with a header and one
    row per line. For each row, a line is written with its suspicion, its probability and whether
    it is an alert. A line with an id, a label and no other value is the label of an earlier row.
    Labels may be 1 and 0, true and false, yes and no, fraud and genuine; others need --positive.
    Numbers such as 1,234.56 or EUR 12.50 are read as rank reads them; one that has two meanings,
    such as 1,234, needs --decimal or --thousands unless the model knows how its column is written.
    Bad lines are reported, counted and skipped; if all are bad, the exit code is 1 and nothing is
    saved.

    A model written by toprank fit scores the events and does not change; if it was fitted with
    --card, each payment is remembered for those after it, and labels reach the ledger and the
    features. Any other model is an online learner: rows are pending until their label comes, and
    are then learned from.

    Everything is saved in one step at each checkpoint, at the end, on Ctrl-C (exit code 130) and
    on SIGTERM (143): the online learner in its model file, payments in the history. When started
    again, even after kill -9, the same file is resumed where it was saved, and another one is
    read from its start. The file of -o is then cut back to that place, so that it contains each
    row once; on stdout, rows since the last checkpoint are repeated.
    """
    from toprank.payments.payment_stream import PaymentStream

    fields = _checked_fields(event_id, label, drop)
    _check_files(events, model, output, skip_seen)
    with ExitStack() as open_files:
        if not (model.exists() and _is_fitted(model)):  # a fitted one does not change
            open_files.enter_context(_locked(model.resolve()))
        _remove_leftovers(model.resolve())
        running = _opened_stream(open_files, model, settings)
        is_fitted = isinstance(running, PaymentStream)
        fields = fields._replace(reading=_checked(reading()))
        fields = _fields_of_model(running, fields) if is_fitted else _fields_seen(running, fields)
        source = _opened_input(open_files, events, form, fields, running.position, skip_seen)
        target = _opened_output(open_files, output, model, running.position, source.is_live)
        stopper = open_files.enter_context(stopped_between_lines())
        if not is_fitted:
            with screen.busy("getting ready"):
                _compile()
        positive = None if is_fitted else running.learner.positive_label
        run = Run(
            running,
            source,
            target,
            _saving(running, model),
            Names(fields.event_id, fields.label, positive),
            checkpoint_every,
            verbose,
        )
        run.to_the_end(stopper, strict)
    screen.remark(run.summary())
    if not running.n_labelled and not is_fitted:
        screen.remark(_no_label(label, running.learner))
    if stopper.signal:
        screen.remark(f"stopped; all that was read is saved in {model}.")
        sys.exit(128 + stopper.signal)
    run.check_useful()


# The model


@contextmanager
def _locked(model: Path) -> Iterator[None]:
    """Hold a lock next to the model file; it ends with the process, however that ends."""
    from toprank.payments.history_store import StoreBusyError
    from toprank.payments.model_lock import writing_model

    with ExitStack() as lock:
        try:
            lock.enter_context(writing_model(model, wait=0))
        except StoreBusyError as error:
            raise ValueError(
                f"{model.name} is in use by another toprank stream; stop that one first, or name "
                "another file with --model."
            ) from error
        yield


def _compile() -> None:
    """Compile the kernels now, which takes a while once, rather than at the first event."""
    from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost

    learner = OnlineNonLinearBoost(n_learners=1, n_latents=1, n_buckets=1)
    for is_positive in (False, True):
        learner.learn_one({"x": 1.0}, is_positive)
    learner.score_one({"x": 1.0})


def _no_label(label: str, learner: Any) -> str:
    from toprank.data.checks import nearest_name

    names = learner.model_.columns.names if hasattr(learner, "model_") else []
    return f"No row has a label yet; labels are read from the field {label!r}" + (
        nearest_name(label, names) or "."
    )


def _remove_leftovers(model: Path) -> None:
    """Remove the partial file that a kill left while a model was being saved."""
    for path in model.parent.glob(f".{escape(model.name)}.{'[0-9a-f]' * 16}.part"):
        path.unlink(missing_ok=True)


def _saving(running: Any, model: Path) -> Callable[[], None]:
    """Return the function that saves a stream: to its model file, or to a model's history."""
    from toprank import files

    if hasattr(running, "checkpoint"):
        return running.checkpoint
    return lambda: files.save(running, model)


def _payment_stream(open_files: ExitStack, model: Path, settings: dict[str, Any]) -> Any:
    """Return the stream of a model written by `toprank fit`."""
    from toprank.cli import paths
    from toprank.payments.payment_stream import PaymentStream

    for name in (*_OF_LEARNER, "drift", "on_drift"):
        if not _is_default(name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} must be left out: {model.name} was written by "
                "toprank fit and does not change as labels arrive."
            )
    opened = paths.opened_model(model, for_writing=True, card_key=settings["card_key"])
    payments = open_files.enter_context(opened)
    payments.stored_cards_.checked_key()  # not at every line
    budget = payments.budget if _is_default("budget") else settings["budget"]
    return PaymentStream(
        payments,
        window=settings["window"],
        budget=min(budget, settings["window"]),
        threshold=settings["threshold"],
        n_reasons=settings["n_reasons"],
    )


def _fields_of_model(running: Any, fields: Fields) -> Fields:
    """Return the fields of a fitted model's stream: those it was fitted with, unless named."""
    from toprank.cli import paths

    model = running.model
    keys = {name for name in (model.card, model.terminal, model.row_id) if name is not None}
    columns = () if model.schema_ is None else model.schema_.columns
    return fields._replace(
        event_id=(model.row_id or fields.event_id) if _is_default("event_id") else fields.event_id,
        label=model.label_column if _is_default("label") else fields.label,
        texts=frozenset(keys | {each.name for each in columns if each.kind == "category"}),
        numbers=frozenset(each.name for each in columns if each.kind == "number"),
        reading=paths.reading_for(model, fields.reading),
        is_fitted=True,
        time=model.time if model.state_ is not None else None,
    )


def _fields_seen(running: Any, fields: Fields) -> Fields:
    """Return the fields of an online learner's stream, with the kinds of values they had."""
    texts = running.position.get("text columns")
    is_sound = isinstance(texts, list) and all(isinstance(name, str) for name in texts)
    model = getattr(running.learner, "model_", None)
    numbers: list[str] = []
    if model is not None and model.n_rows:
        n_values = model.seen.n_values.tolist()
        numbers = [
            name for name, count in zip(model.columns.names, n_values, strict=True) if count
        ]
    return fields._replace(texts=frozenset(texts if is_sound else ()), numbers=frozenset(numbers))


def _is_fitted(model: Path) -> bool:
    """Return whether `toprank fit` wrote the file: only then it names the column of labels."""
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
    if settings.pop("card_key") is not None:
        raise click.UsageError(
            "--card-key must come with a model of toprank fit --card-key: an online learner keeps "
            "no history of cards."
        )
    named = settings["positive"]
    settings = settings | {"positive": None if named is None else label_of(named)}
    if _is_default("budget"):
        settings["budget"] = min(settings["budget"], settings["window"])
    own = {option: settings.pop(option) for option in _OF_LEARNER}
    if not model.exists():
        parameters = {_OF_LEARNER[option]: value for option, value in own.items()}
        return EventStream(OnlineNonLinearBoost(**parameters), **settings)
    found = files.load(model)
    if isinstance(found, OnlineBooster):
        found = EventStream(found, **settings)
    if not isinstance(found, EventStream):
        raise ValueError(
            f"{model.name} must contain an online learner or a stream of one; got "
            f"{type(found).__name__}; name a new file with --model."
        )
    _check_unchanged(found, own | settings, model)
    return found


def _check_unchanged(found: Any, options: dict[str, Any], model: Path) -> None:
    """Set the options that may change; raise for others that differ from those of the model."""
    given = {name: value for name, value in options.items() if not _is_default(name)}
    found.threshold = given.pop("threshold", found.threshold)
    found.n_reasons = given.pop("n_reasons", found.n_reasons)
    parameters = found.learner.get_params(deep=False)
    started_with = {
        **{option: parameters.get(name) for option, name in _OF_LEARNER.items()},
        "window": found.window.size,
        "budget": found.window.budget,
        "drift": found.drift,
        "on_drift": found.on_drift,
    }
    for name, value in given.items():
        if started_with[name] != value:
            raise ValueError(
                f"--{name.replace('_', '-')} must be that of {model.name}, "
                f"{started_with[name]!r}; got {value!r}; leave it out, or name a new file with "
                "--model."
            )


def _is_default(option: str) -> bool:
    context = click.get_current_context()
    return context.get_parameter_source(option) == ParameterSource.DEFAULT


# Input and output


def _checked_fields(event_id: str, label: str, drop: tuple[str, ...]) -> Fields:
    if event_id == label or event_id in drop or label in drop:
        raise click.UsageError(
            f"--id, --label and --drop must name different fields; got {event_id!r}, "
            f"{label!r} and {', '.join(map(repr, drop)) or 'none'}."
        )
    return Fields(event_id, label, drop)


def _checked(reading: Any) -> Any:
    """Return how EVENTS is written; its lines must be found before they are decoded."""
    if reading.encoding is not None and "\n".encode(reading.encoding) != b"\n":
        raise click.UsageError(
            f"--encoding must be one in which a line ends with one byte; got {reading.encoding}; "
            "convert EVENTS to UTF-8."
        )
    return reading


def _check_files(events: str, model: Path, output: Path | None, skip_seen: bool) -> None:
    """Raise unless all files differ and can be written, before any event is read."""
    from toprank.cli import paths

    if skip_seen and Path(events).is_file():
        raise click.UsageError("--skip-seen must come with stdin; a file is always resumed.")
    named = [path for path in (model, output) if path is not None]
    if output is not None and output.resolve() == model.resolve():
        raise click.UsageError("-o and --model must name different files.")
    for path in named:
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} must be a regular file; it is not.")
        paths.check_output(path, Path(events))


def _opened_input(
    open_files: ExitStack,
    events: str,
    form: str | None,
    fields: Fields,
    position: dict[str, Any],
    skip_seen: bool,
) -> Source:
    """Return the events from where the checkpoint says they are resumed."""
    opened = _opened(open_files, events)
    is_regular = _is_regular(opened)
    start = Position()
    lines = lines_of(opened, start)
    parser: JsonEvents | CsvEvents = JsonEvents(fields)
    if form == "csv" or (form is None and Path(events).suffix.lower() == ".csv"):
        header, start = next(lines, (b"", start))
        parser = _csv_events(header, fields, events)
    seen = Position.from_note(position.get("input")) or Position()
    if seen.n_bytes and skip_seen:
        skip_to(lines, start, seen)
        start = seen
    elif seen.n_bytes and is_regular:
        start = _resumed(opened, start, seen, events)
        lines = lines_of(opened, start)
    return Source(parser, lines, start, is_live=not is_regular)


def _opened(open_files: ExitStack, events: str) -> BinaryIO:
    if events == _STDIN:
        return sys.stdin.buffer
    return open_files.enter_context(Path(events).open("rb"))


def _is_regular(opened: BinaryIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):
        return False


def _resumed(opened: BinaryIO, start: Position, seen: Position, events: str) -> Position:
    """Return where the file is resumed, and move there: to the start if it is another file."""
    if seen.n_bytes > start.n_bytes and seen.is_in(opened):
        return seen
    if seen.n_bytes > start.n_bytes:
        screen.remark(
            f"note: {events} is not the input of the last run; it is read from its start."
        )
    opened.seek(start.n_bytes)
    return start


def _csv_events(header: bytes, fields: Fields, events: str) -> CsvEvents:
    """Return the reader of a CSV; raise if its header lacks a field that was named."""
    from toprank.data import checks

    if not header.strip():
        raise ValueError(f"{events} must begin with a line of column names; it has none.")
    try:
        parser = CsvEvents(fields, header)
    except BadLineError as error:
        raise ValueError(f"the header of {events} could not be read: {error}") from error
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
    """Return the output, a file cut back to its position at the checkpoint."""
    if output is None:
        return Output(None, Position(), is_live)
    written = Position.from_note(position.get("output"))
    if written is None or not output.exists():
        if written is not None:
            screen.remark(f"note: {output} is new; earlier scores are not in it.")
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        new = open_files.enter_context(os.fdopen(descriptor, "wb"))
        return Output(new, Position(), is_live)
    file = open_files.enter_context(output.open("r+b"))
    if not written.is_in(file):
        raise ValueError(
            f"{output.name} must be the file of scores that {model.name} was writing; it is "
            "another one or has lost lines; name a new file with -o."
        )
    file.truncate(written.n_bytes)
    file.seek(written.n_bytes)
    return Output(file, written, is_live)
