"""The first generation of a folder, and its ledger."""

from pathlib import Path
from typing import Any

from toprank.data.atomic import PRIVATE, sync
from toprank.data.tables.columns import arrow_table
from toprank.payments.history_store.generations import LEDGER, ROWS, Generations
from toprank.payments.history_store.record_log import RecordLog
from toprank.payments.history_store.replayed import StoreState
from toprank.payments.history_store.row_archive import RowArchive
from toprank.payments.history_store.store_writer import OnStep, write_snapshot
from toprank.payments.ledger import Ledger, MemoryLedger, SqliteLedger
from toprank.payments.ledger.entries import Entries


def fill_folder(
    folder: Path,
    state: StoreState,
    rows: Any,
    step: OnStep,
    labels: Entries | None = None,
) -> None:
    """Write the first generation of a folder."""
    with ledger_to_write(folder / LEDGER, PRIVATE) as ledger:
        if labels is not None:
            ledger.take_over(labels)
        state.position = ledger.position
    step("ledger created")
    generations = Generations(folder)
    (folder / ROWS).mkdir(mode=0o700)
    table = None if rows is None else arrow_table(rows)
    if table is not None and table.num_rows:
        RowArchive(folder / ROWS, []).append(table, 0, PRIVATE)
        state.n_archived = table.num_rows
        step("rows written")
    RecordLog.create(generations.log(1), 1, is_synced=False).close()
    step("log created")
    write_snapshot(generations.snapshot(1), state, PRIVATE)
    step("snapshot written")
    sync(folder)


def ledger_to_read(path: Path) -> Ledger:
    """Return the ledger at `path`; an empty one if there is none."""
    return SqliteLedger(path) if path.exists() else MemoryLedger()


def ledger_to_write(path: Path, mode: int) -> Ledger:
    """Return the ledger at `path`, which is made with this mode if there is none."""
    path.touch(mode=mode)  # SQLite's own files next to it take its mode
    return SqliteLedger(path)
