"""The files a command reads and writes, checked before the long work begins."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import click

from toprank.cli import screen
from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import check_replaceable, is_model, no_file

_BATCH_ROWS = 20_000  # small enough for rows of many long texts, large enough to score at speed


@contextmanager
def opened_model(
    path: Path,
    history: Path | None = None,
    *,
    for_writing: bool = False,
    data: DataPlace | None = None,
    card_key: Path | None = None,
) -> Iterator[Any]:
    """Give the payment model in a file; its history is locked against other writers meanwhile.

    `data` is what the command reads: an error says so if the two were typed in the wrong order.
    """
    from toprank.payments.payment_model import PaymentModel

    if data is not None and data.is_model and not is_model(path):
        raise click.UsageError(
            f"MODEL must come before DATA: {data.name} is a model and {path.name} is not; swap "
            "the two."
        )
    with screen.busy(f"reading {path.name}"):
        model = PaymentModel.load(
            path, history=history, for_writing=for_writing, card_key=card_key
        )
    with model:
        if model.state_ is not None:
            for note in model.state_.notes:
                screen.remark(f"note: {note}")
        yield model


card_key_option = click.option(
    "--card-key", type=click.Path(path_type=Path),
    help="File of the key that the model was fitted with, if it was: its history keeps keyed "
    "hashes of the cards.",
)  # fmt: skip


def check_inputs(*given: Path | DataPlace | None) -> None:
    """Raise unless every file is there: at once, before imports that take seconds."""
    for path in given:
        if isinstance(path, DataPlace):
            path.check()
        elif path is not None and not path.exists():
            raise no_file(path)


def reading_for(model: Any, reading: Any, time: str | None = None) -> Any:
    """Return how to read a file for a model: as given, else as the model knows its columns.

    Times are read where the model or the command needs them.
    """
    from dataclasses import replace

    named = time or (model.time if model.state_ is not None else None)
    times = () if named is None else (named,)
    return replace(reading.knowing(model.reading_), times=times)


def tree_noun(ranker: Any, label: str) -> str:
    """Return what the tree of a model finds: its positives, or space without labels."""
    from toprank.present import summary
    from toprank.rankers.trees.reading.words import SPACE
    from toprank.workflow.alert_list import has_probabilities

    return summary.noun_of(label) if has_probabilities(ranker) else SPACE


@contextmanager
def batches(
    data: DataPlace, schema: Any, doing: str, is_written: bool = False, reading: Any = None
) -> Iterator[Iterator[Any]]:
    """Give the rows of DATA batch by batch, with a bar of how much of it is read.

    Where `is_written`, each is a `WrittenBatch`, with the rows as they are in the file, too.
    `reading` says how the file is written.
    """
    from toprank.data import tables

    source = data.source
    read = source.written if is_written else source.batches
    n_rows, n_bytes = source.count_rows(), getattr(source, "n_bytes", None)
    bar: Any = screen.progress_bar() if n_bytes else screen.busy(doing)
    with bar as progress:
        on_bytes = None
        if n_bytes and not n_rows:
            on_bytes = lambda done: progress(doing, done, n_bytes)  # noqa: E731

        def counted() -> Generator[Any, None, None]:
            n_read = 0
            for batch in read(schema=schema, rows=_BATCH_ROWS, on_bytes=on_bytes, reading=reading):
                table = batch.table if isinstance(batch, tables.WrittenBatch) else batch
                n_read += table.num_rows
                if n_rows:
                    progress(doing, n_read, n_rows)
                yield batch

        # closed before the bar goes and the program ends: a reader reads ahead in threads
        with closing(counted()) as parts:
            yield parts


def check_output(path: Path, data: Path | DataPlace | None, kind: str | None = None) -> None:
    """Raise unless `path` can be written and is not a file that the command reads.

    Where it exists and `kind` is given, it must be such a file of toprank, unless --force is.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} must name a file to write; it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")
    place = DataPlace(str(data)) if isinstance(data, Path) else data
    if place is not None and place.is_same_file(path):
        raise click.UsageError(f"{path} is the data itself; name another file to write with -o.")
    if kind is not None:
        check_replaceable(path, kind)
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        reason = (error.strerror or "it is refused").lower()
        raise PermissionError(
            f"{path.name} cannot be written to {path.parent}: {reason}; "
            "name another place with -o."
        ) from error


def check_list_output(path: Path, data: DataPlace) -> None:
    """Raise unless `path` can be written and its suffix is that of a table."""
    import pyarrow as pa

    from toprank.data import tables

    with TemporaryDirectory() as folder:
        tables.write_rows(pa.table({"row": [1]}), Path(folder, path.name))
    check_output(path, data, "list")
