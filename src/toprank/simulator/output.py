"""A simulation as tables, one a day, and as a Parquet file of any length."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toprank.data import checks
from toprank.data.atomic import atomic_path
from toprank.data.tables import TableError
from toprank.simulator.days import draw_days
from toprank.simulator.settings import Simulation
from toprank.simulator.simulated_columns import SimulatedColumns
from toprank.simulator.simulated_payments import SimulatedPayments

_SUFFIXES = (".parquet", ".pq")


class Written(NamedTuple):
    """What is in a file of payments."""

    n_payments: int
    n_frauds: int


def tables_by_day(simulation: Simulation) -> Iterator[pa.Table]:
    """Yield the payments of each day, in order of time.

    >>> first, second = tables_by_day(Simulation(n_cards=50, n_terminals=100, n_days=2))
    >>> first.column_names
    ['paid_at', 'card', 'terminal', 'amount', 'is_fraud']
    """
    world, days = draw_days(simulation)
    columns = SimulatedColumns(world, simulation)
    return (_table(payments, columns, simulation) for payments in days)


def write_parquet(
    simulation: Simulation,
    path: str | Path,
    on_day: Callable[[int, int], None] | None = None,
    group_rows: int = 200_000,
) -> Written:
    """Write the payments to a Parquet file; memory does not grow with the days.

    The file is there when it is whole. `on_day` is told how many days are done, and of how many;
    a row group holds whole days, at least `group_rows` payments but for the last.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = write_parquet(Simulation(100, 200, 40), Path(folder, "payments.parquet"))
    >>> written.n_frauds < 0.05 * written.n_payments
    True
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise TableError(f"{path.name} must end in {' or '.join(_SUFFIXES)}; got {path.suffix!r}.")
    checks.whole_number(group_rows, "group_rows", 1)
    with atomic_path(path) as beside:
        return _write(simulation, beside, on_day or (lambda done, total: None), group_rows)


def _table(
    payments: SimulatedPayments, columns: SimulatedColumns, simulation: Simulation
) -> pa.Table:
    table = columns.plain(payments)
    if simulation.details:
        table |= columns.details(payments)
    elif simulation.worldline:
        table |= columns.channel(payments)
    table["is_fraud"] = pa.array(payments.pattern > 0)
    if simulation.claims:
        table |= columns.claims(payments)
    if simulation.checks_a_day:
        table |= columns.verdicts(payments)
    if simulation.keep_pattern:
        table["pattern"] = pa.array(payments.pattern)
    return pa.table(table)


def _write(
    simulation: Simulation, path: Path, on_day: Callable[[int, int], None], group_rows: int
) -> Written:
    n_payments = n_frauds = 0
    writer = None
    try:
        for rows in _groups(simulation, on_day, group_rows):
            writer = writer or pq.ParquetWriter(path, rows.schema)
            writer.write_table(rows, row_group_size=max(1, rows.num_rows))
            n_payments += rows.num_rows
            n_frauds += pc.sum(rows["is_fraud"], min_count=0).as_py()
    finally:
        if writer is not None:
            writer.close()
    return Written(n_payments, n_frauds)


def _groups(
    simulation: Simulation, on_day: Callable[[int, int], None], group_rows: int
) -> Iterator[pa.Table]:
    """Yield tables of whole days that have at least so many rows, but for the last."""
    days: list[pa.Table] = []
    n_rows = 0
    for done, table in enumerate(tables_by_day(simulation), start=1):
        days.append(table)
        n_rows += table.num_rows
        on_day(done, simulation.n_days)
        if n_rows >= group_rows or done == simulation.n_days:
            yield pa.concat_tables(days)
            days, n_rows = [], 0
