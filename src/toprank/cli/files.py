"""The files a command reads and writes, looked at before the long work begins."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import click

from toprank.cli import screen

_BUDGET = 100
_BATCH_ROWS = 20_000  # small enough for rows of many long texts, large enough to score at speed


class Facts(NamedTuple):
    """What `toprank fit` noted beside the model, for the commands that come after it.

    `payments` says which column is what, where the model knows cards by their history, and
    `history` is the id of that.
    """

    label: str | None
    time: str | None
    budget: int
    payments: Any = None
    history: str | None = None


def open_model(path: Path) -> tuple[Any, Facts]:
    """Return a saved ranker and what was noted when it was fitted."""
    from toprank import model_file
    from toprank.cli.payments import noted_roles

    ranker, manifest = model_file.open_model(path)
    if type(ranker).__name__ == "History":
        raise ValueError(
            f"{path.name} is the history of a model; name the model, which is called the same but "
            "for its ending, .toprank."
        )
    if not hasattr(ranker, "schema_"):
        raise ValueError(
            f"{path.name} is the model of a stream; score rows with: "
            f"toprank stream ROWS --model {path.name}"
        )
    noted = manifest["facts"]
    # a file may come from anyone: what is not as `fit` writes it counts as not noted
    label, time, budget = (noted.get(name) for name in ("label", "time", "budget"))
    return ranker, Facts(
        label if isinstance(label, str) else None,
        time if isinstance(time, str) else None,
        budget if type(budget) is int and budget >= 1 else _BUDGET,
        noted_roles(noted.get("payments")),
        noted.get("history"),
    )


def tree_noun(ranker: Any, facts: Facts) -> str:
    """Return what the tree of a model finds: its positives, or space where no labels were."""
    from toprank import summary
    from toprank.alert_list import has_probabilities
    from toprank.trees.reading.words import SPACE

    return summary.noun_of(facts.label or "") if has_probabilities(ranker) else SPACE


@contextmanager
def batches(
    data: Path, schema: Any, doing: str, is_written: bool = False
) -> Iterator[Iterator[Any]]:
    """Give the rows of a file batch by batch, with a bar of how much of it is read.

    Where `is_written`, each is a `WrittenBatch`, with the rows as they are in the file, too.
    """
    from toprank import tables

    read = tables.read_written if is_written else tables.read_batches
    n_rows, n_bytes = tables.count_rows(data), data.stat().st_size
    with screen.progress_bar() as progress:
        on_bytes = None if n_rows else lambda done: progress(doing, done, n_bytes)

        def counted() -> Generator[Any, None, None]:
            n_read = 0
            for batch in read(data, schema=schema, rows=_BATCH_ROWS, on_bytes=on_bytes):
                table = batch.table if isinstance(batch, tables.WrittenBatch) else batch
                n_read += table.num_rows
                if n_rows:
                    progress(doing, n_read, n_rows)
                yield batch

        # closed before the bar goes and the program ends: a reader reads ahead in threads
        with closing(counted()) as parts:
            yield parts


def check_output(path: Path, data: Path) -> None:
    """Raise unless `path` can be written and is not the file the command reads."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} must name a file to write; it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")
    if path.exists() and data.exists() and path.samefile(data):
        raise click.UsageError(f"{path} is the data itself; name another file to write with -o.")
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        reason = (error.strerror or "it is refused").lower()
        raise PermissionError(
            f"{path.name} cannot be written to {path.parent}: {reason}; "
            "name another place with -o."
        ) from error


def check_list_output(path: Path, data: Path) -> None:
    """Raise unless `path` can be written and its suffix is that of a table."""
    import pyarrow as pa

    from toprank import tables

    with TemporaryDirectory() as folder:
        tables.write_rows(pa.table({"row": [1]}), Path(folder, path.name))
    check_output(path, data)
