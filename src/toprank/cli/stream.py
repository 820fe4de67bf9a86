"""`toprank stream`: scores events as they arrive and learns from labels when they come."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toprank import registry
from toprank.cli import log_lines, screen
from toprank.cli.existing_files import force_option
from toprank.cli.option_names import is_default
from toprank.cli.paths import card_key_option
from toprank.cli.table_options import table_options

if TYPE_CHECKING:
    from toprank.cli.stream_input import Fields

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
_OF_LEARNER = {
    "positive": "positive_label",
    "class_weight": "class_weight",
    "loss": "loss",
    "learning_rate": "learning_rate",
    "seed": "random_state",
}
"""Options of the online learner, and the parameter that each sets."""
_ROWS_TO_COMPILE = 40


@click.command(epilog=EXAMPLES, short_help="Score events as they arrive, learn from labels.")
@click.argument("events", default="-")
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
    "--learner", default=next(iter(registry.stream_choices())), show_default=True,
    type=click.Choice(list(registry.stream_choices())), metavar="NAME",
    help="Online learner that a new model file starts with: "
    f"{', '.join(registry.stream_choices())}.",
)  # fmt: skip
@click.option(
    "--class-weight", type=click.Choice(("balanced",)),
    help="Give both classes the same total weight, however rare one is.",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(("log", "ap")),
    help="Loss of an online booster to minimise; ap favours the top of the list at the cost of "
    "its bottom.  [default: log]",
)  # fmt: skip
@click.option(
    "--learning-rate", type=click.FloatRange(0, min_open=True),
    help="Size of the learning steps.  [default: that of the learner, 0.1 of most]",
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
    "--checkpoint-every", type=click.IntRange(1),
    help="Number of lines between checkpoints.  [default: 10,000, or more where saving would "
    "take more than a twentieth of the time]",
)  # fmt: skip
@click.option(
    "--skip-seen", is_flag=True,
    help="With stdin: skip what was read before, for a source that sends all events again.",
)  # fmt: skip
@card_key_option
@table_options("EVENTS")
@force_option
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
    checkpoint_every: int | None,
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

    Everything is saved in one step at each checkpoint, at the end, on Ctrl-C (exit code 130), on
    SIGTERM (143) and when the terminal is closed (129): the online learner in its model file,
    payments in the history. When started again, even after kill -9, the same file is resumed where
    it was saved, and another one is read from its start. The file of -o is then cut back to that
    place, so that it contains each row once; on stdout, rows since the last checkpoint are
    repeated.
    """
    # imported here, as whatever takes long: the help of all commands must come at once
    from toprank.cli import stream_files
    from toprank.cli.stream_run import Names, Run, stopped_between_lines
    from toprank.payments.payment_stream import PaymentStream

    fields = _checked_fields(event_id, label, drop)
    stream_files.check_files(events, model, output, skip_seen)
    with ExitStack() as open_files:
        if not (model.exists() and _is_fitted(model)):  # a fitted one does not change
            open_files.enter_context(stream_files.locked(model.resolve()))
        stream_files.remove_leftovers(model.resolve())
        running = _opened_stream(open_files, model, settings)
        is_fitted = isinstance(running, PaymentStream)
        fields = fields._replace(reading=_checked(reading()))
        fields = _fields_of_model(running, fields) if is_fitted else _fields_seen(running, fields)
        source = stream_files.opened_input(
            open_files, events, form, fields, running.position, skip_seen
        )
        target = stream_files.opened_output(
            open_files, output, model, running.position, source.is_live
        )
        stopper = open_files.enter_context(stopped_between_lines())
        if not is_fitted:
            with screen.busy("getting ready"):
                _compile(running.learner)
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
    log_lines.report(rows=run.n_scored)
    screen.remark(run.summary())
    if not running.n_labelled and not is_fitted:
        screen.remark(_no_label(label, running.learner))
    if stopper.signal:
        screen.remark(f"stopped; all that was read is saved in {model}.")
        sys.exit(128 + stopper.signal)
    run.check_useful()


# The model


def _compile(learner: Any) -> None:
    """Compile the kernels now, which takes a while once, rather than at the first events."""
    from toprank.rankers.online.event_stream import EventStream
    from toprank.rankers.online.events import Event

    row = registry.row_of(learner)
    events = [Event(None, number % 2, {"x": float(number)}) for number in range(_ROWS_TO_COMPILE)]
    EventStream(row.load()(**row.shortest), threshold=0).take_in(events)


def _no_label(label: str, learner: Any) -> str:
    from toprank.data.checks import nearest_name

    names = learner.model_.columns.names if hasattr(learner, "model_") else []
    return f"No row has a label yet; labels are read from the field {label!r}" + (
        nearest_name(label, names) or "."
    )


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

    for name in (*_OF_LEARNER, "learner", "drift", "on_drift"):
        if not is_default(name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} must be left out: {model.name} was written by "
                "toprank fit and does not change as labels arrive."
            )
    opened = paths.opened_model(model, for_writing=True, card_key=settings["card_key"])
    payments = open_files.enter_context(opened)
    payments.stored_cards_.checked_key()  # not at every line
    budget = payments.budget if is_default("budget") else settings["budget"]
    return PaymentStream(
        payments,
        window=settings["window"],
        budget=min(budget, settings["window"]),
        threshold=settings["threshold"],
        n_reasons=settings["n_reasons"],
    )


def _fields_of_model(running: Any, fields: "Fields") -> "Fields":
    """Return the fields of a fitted model's stream: those it was fitted with, unless named."""
    from toprank.cli import paths

    model = running.model
    keys = {name for name in (model.card, model.terminal, model.row_id) if name is not None}
    columns = () if model.schema_ is None else model.schema_.columns
    return fields._replace(
        event_id=(model.row_id or fields.event_id) if is_default("event_id") else fields.event_id,
        label=model.label_column if is_default("label") else fields.label,
        texts=frozenset(keys | {each.name for each in columns if each.kind == "category"}),
        numbers=frozenset(each.name for each in columns if each.kind == "number"),
        reading=paths.reading_for(model, fields.reading),
        is_fitted=True,
        time=model.time if model.state_ is not None else None,
    )


def _fields_seen(running: Any, fields: "Fields") -> "Fields":
    """Return the fields of an online learner's stream, with the kinds of values they had."""
    texts, numbers = (
        frozenset(names if isinstance(names, list) and all(type(n) is str for n in names) else ())
        for names in map(running.position.get, ("text columns", "number columns"))
    )
    return fields._replace(texts=texts, numbers=numbers)


def _is_fitted(model: Path) -> bool:
    """Return whether `toprank fit` wrote the file: only then it names the column of labels."""
    from toprank import files

    return isinstance(files.read_manifest(model)["facts"].get("label"), str)


def _opened_stream(open_files: ExitStack, model: Path, settings: dict[str, Any]) -> Any:
    """Return the stream of a model file, or a new one."""
    from toprank import files
    from toprank.cli.stream_input import label_of
    from toprank.rankers.online.event_stream import EventStream
    from toprank.rankers.online.online_learner import OnlineLearner

    if model.exists() and _is_fitted(model):
        return _payment_stream(open_files, model, settings)
    if settings.pop("card_key") is not None:
        raise click.UsageError(
            "--card-key must come with a model of toprank fit --card-key: an online learner keeps "
            "no history of cards."
        )
    named = settings["positive"]
    settings = settings | {"positive": None if named is None else label_of(named)}
    if is_default("budget"):
        settings["budget"] = min(settings["budget"], settings["window"])
    name = settings.pop("learner")
    own = {option: settings.pop(option) for option in _OF_LEARNER}
    if not model.exists():
        return EventStream(_new_learner(name, own), **settings)
    found = files.load(model)
    if isinstance(found, OnlineLearner):
        found = EventStream(found, **settings)
    if not isinstance(found, EventStream):
        raise ValueError(
            f"{model.name} must contain an online learner or a stream of one; got "
            f"{type(found).__name__}; name a new file with --model."
        )
    _check_unchanged(found, own | settings | {"learner": name}, model)
    return found


def _new_learner(name: str, options: dict[str, Any]) -> Any:
    """Return the learner of this name, with those options that were given and the seed."""
    choice = registry.stream_choices()[name]
    known = choice.row.load()().get_params(deep=False)
    given = {option for option in options if not is_default(option)}
    for option in sorted(given):
        if _OF_LEARNER[option] not in known:
            raise click.UsageError(
                f"--{option.replace('_', '-')} must be left out with --learner {name}, which has "
                "no such setting."
            )
    return choice.make(**{_OF_LEARNER[option]: options[option] for option in {*given, "seed"}})


def _check_unchanged(found: Any, options: dict[str, Any], model: Path) -> None:
    """Set the options that may change; raise for others that differ from those of the model."""
    given = {name: value for name, value in options.items() if not is_default(name)}
    found.threshold = given.pop("threshold", found.threshold)
    found.n_reasons = given.pop("n_reasons", found.n_reasons)
    parameters = found.learner.get_params(deep=False)
    started_with = {
        "learner": registry.row_of(found.learner).command,
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


def _checked_fields(event_id: str, label: str, drop: tuple[str, ...]) -> "Fields":
    if event_id == label or event_id in drop or label in drop:
        raise click.UsageError(
            f"--id, --label and --drop must name different fields; got {event_id!r}, "
            f"{label!r} and {', '.join(map(repr, drop)) or 'none'}."
        )
    from toprank.cli.stream_input import Fields

    return Fields(event_id, label, drop)


def _checked(reading: Any) -> Any:
    """Return how EVENTS is written; its lines must be found before they are decoded."""
    if reading.encoding is not None and "\n".encode(reading.encoding) != b"\n":
        raise click.UsageError(
            f"--encoding must be one in which a line ends with one byte; got {reading.encoding}; "
            "convert EVENTS to UTF-8."
        )
    return reading
