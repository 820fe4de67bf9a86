"""A simulation as tables, one per day, and as a Parquet or CSV file of any length."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from toprank.data import checks
from toprank.data.atomic import atomic_path
from toprank.data.tables import TableError
from toprank.simulator.days import draw_days
from toprank.simulator.settings import Simulation
from toprank.simulator.simulated_columns import SimulatedColumns
from toprank.simulator.simulated_payments import SimulatedPayments

OnDay = Callable[[int, int], None]

_PARQUET = (".parquet", ".pq")
_GROUP_ROWS = 200_000
_ID_DIGITS = 9


class Written(NamedTuple):
    """The number of payments and frauds in a file."""

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
    on_day: OnDay | None = None,
    group_rows: int = _GROUP_ROWS,
) -> Written:
    """Write the payments, each with an `id`, to a Parquet file; return how many there are.

    Memory does not grow with the days, and the file appears only when it is complete. `on_day` is
    called with the number of days done and of all days; a row group contains whole days, at least
    `group_rows` payments except for the last.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = write_parquet(Simulation(100, 200, 40), Path(folder, "payments.parquet"))
    >>> written.n_frauds < 0.05 * written.n_payments
    True
    """
    return _write(simulation, _checked(path, _PARQUET), on_day, group_rows, pq.ParquetWriter)


def write_folder(
    simulation: Simulation, folder: str | Path, on_day: OnDay | None = None
) -> Written:
    """Write the payments, each with an `id`, as one Parquet file per day, such as
    `2018-04-01.parquet`; return how many there are.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = write_folder(Simulation(5, 5, 2), folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['2018-04-01.parquet', '2018-04-02.parquet']
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    n_payments = n_frauds = 0
    for done, table in enumerate(tables_by_day(simulation)):
        rows = _with_ids(table, n_payments)
        with atomic_path(place / f"{simulation.first_day + done}.parquet") as unfinished:
            pq.write_table(rows, unfinished)
        n_payments += rows.num_rows
        n_frauds += pc.sum(rows["is_fraud"], min_count=0).as_py()
        if on_day is not None:
            on_day(done + 1, simulation.n_days)
    return Written(n_payments, n_frauds)


def write_csv(simulation: Simulation, path: str | Path, on_day: OnDay | None = None) -> Written:
    """Write the payments, each with an `id`, to a CSV; return how many there are.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = write_csv(Simulation(5, 5, 1, random_state=1), Path(folder, "payments.csv"))
    ...     lines = Path(folder, "payments.csv").read_text().splitlines()
    >>> lines[0]
    '"id","paid_at","card","terminal","amount","is_fraud"'
    >>> len(lines) == 1 + written.n_payments
    True
    """
    return _write(simulation, _checked(path, (".csv",)), on_day, _GROUP_ROWS, _CsvWriter)


def _checked(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise TableError(f"{path.name} must end in {' or '.join(suffixes)}; got {path.suffix!r}.")
    return path


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


class _CsvWriter:
    """A writer of CSV with the interface of `ParquetWriter`."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pacsv.CSVWriter(path, _for_csv(schema.empty_table()).schema)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        self._writer.write_table(_for_csv(table))

    def close(self) -> None:
        self._writer.close()


def _for_csv(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, and with times to the second."""
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(i, table.field(i).name, column.cast(pa.string()))
        elif pa.types.is_timestamp(column.type):
            table = table.set_column(i, table.field(i).name, column.cast(pa.timestamp("s")))
    return table


def _write(
    simulation: Simulation,
    path: Path,
    on_day: OnDay | None,
    group_rows: int,
    new_writer: Callable[[Path, pa.Schema], Any],
) -> Written:
    checks.whole_number(group_rows, "group_rows", 1)
    n_payments = n_frauds = 0
    with atomic_path(path) as unfinished, ExitStack() as open_files:
        writer = None
        for group in _groups(simulation, on_day or (lambda done, total: None), group_rows):
            rows = _with_ids(group, n_payments)
            if writer is None:
                writer = open_files.enter_context(closing(new_writer(unfinished, rows.schema)))
            writer.write_table(rows, row_group_size=max(1, rows.num_rows))
            n_payments += rows.num_rows
            n_frauds += pc.sum(rows["is_fraud"], min_count=0).as_py()
    return Written(n_payments, n_frauds)


def _with_ids(rows: pa.Table, n_before: int) -> pa.Table:
    """Return the rows with an id each, in the order of the whole file."""
    numbers = pa.array(range(n_before + 1, n_before + 1 + rows.num_rows), pa.int64())
    digits = pc.utf8_lpad(numbers.cast(pa.string()), _ID_DIGITS, "0")
    return rows.add_column(0, "id", pc.binary_join_element_wise("payment", digits, "-"))


def _groups(simulation: Simulation, on_day: OnDay, group_rows: int) -> Iterator[pa.Table]:
    """Yield tables of whole days with at least `group_rows` rows each, except for the last."""
    days: list[pa.Table] = []
    n_rows = 0
    for done, table in enumerate(tables_by_day(simulation), start=1):
        days.append(table)
        n_rows += table.num_rows
        on_day(done, simulation.n_days)
        if n_rows >= group_rows or done == simulation.n_days:
            yield pa.concat_tables(days)
            days, n_rows = [], 0
