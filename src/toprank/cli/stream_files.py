"""The files of `toprank stream`: its lock, its events from where they are resumed, its scores."""

import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

import click

from toprank.cli import paths, screen
from toprank.cli.existing_files import check_replaceable, is_forced
from toprank.cli.option_names import is_default
from toprank.cli.stream_input import BadLineError, CsvEvents, Fields, JsonEvents
from toprank.cli.stream_lines import Lines, Position
from toprank.cli.stream_run import Output, Source
from toprank.data.atomic import PRIVATE, try_lock

STDIN = "-"


@contextmanager
def locked(model: Path) -> Iterator[None]:
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


def remove_leftovers(model: Path) -> None:
    """Remove the partial file that a kill left while a model was being saved."""
    for path in model.parent.glob(f".{escape(model.name)}.{'[0-9a-f]' * 16}.part"):
        path.unlink(missing_ok=True)


def check_files(events: str, model: Path, output: Path | None, skip_seen: bool) -> None:
    """Raise unless all files differ and can be written, before any event is read."""
    if skip_seen and Path(events).is_file():
        raise click.UsageError("--skip-seen must come with stdin; a file is always resumed.")
    named = [path for path in (model, output) if path is not None]
    if output is not None and output.resolve() == model.resolve():
        raise click.UsageError("-o and --model must name different files.")
    for path in named:
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} must be a regular file; it is not.")
        paths.check_output(path, Path(events))


def opened_input(
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
    lines = Lines(opened, Position())
    parser: JsonEvents | CsvEvents = JsonEvents(fields)
    if form == "csv" or (form is None and Path(events).suffix.lower() == ".csv"):
        header = lines.take(1)
        parser = _csv_events(b"" if header is None else header.lines[0], fields, events)
    seen = Position.from_note(position.get("input")) or Position()
    if seen.n_bytes and skip_seen:
        lines.skip_to(seen)
    elif seen.n_bytes and is_regular:
        lines = Lines(opened, _resumed(opened, lines.position, seen, events))
    return Source(parser, lines, opened if is_regular else None)


def _opened(open_files: ExitStack, events: str) -> BinaryIO:
    if events == STDIN:
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
        if not is_default(option) and name not in parser.names:
            hint = checks.nearest_name(name, parser.names)
            raise ValueError(f"column {name!r} is not in {events}{hint or '.'}")
    return parser


def opened_output(
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
    if written is not None and not output.exists():
        screen.remark(f"note: {output} is new; earlier scores are not in it.")
        written = None
    file = open_files.enter_context(_opened_alone(output))
    if written is None:
        _keep_scores_of_others(output)
    elif not written.is_in(file) and not is_forced():
        raise ValueError(
            f"{output.name} must be the file of scores that {model.name} was writing; it is "
            "another one or has lost lines; name a new file with -o, or replace it with --force."
        )
    start = written if written is not None and written.is_in(file) else Position()
    file.truncate(start.n_bytes)
    file.seek(start.n_bytes)
    return Output(file, start, is_live)


def _opened_alone(output: Path) -> BinaryIO:
    """Return the file of scores, made if there is none, locked against other streams."""
    file = os.fdopen(os.open(output, os.O_RDWR | os.O_CREAT, PRIVATE), "r+b")
    if not try_lock(file.fileno()):
        file.close()
        raise ValueError(
            f"{output.name} is being written by another toprank stream; name another file with -o."
        )
    return file


def _keep_scores_of_others(output: Path) -> None:
    """Copy scores that a new model did not write: perhaps those of a model that was deleted."""
    check_replaceable(output, "file of scores")
    if output.stat().st_size and not is_forced():
        kept = output.with_name(f"{output.name}.before")
        shutil.copy(output, kept)  # with its mode
        screen.remark(f"note: {output} had scores of another run; they are now in {kept}.")
