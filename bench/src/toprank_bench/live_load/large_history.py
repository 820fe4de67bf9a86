"""A desk that remembers millions of payments: those of a world, under new cards again and again.

It is a process of its own, since it needs as much memory as the server. Run it as
`python -m toprank_bench.live_load.large_history DESK PAYMENTS N`.
"""

import sys
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toprank.live.desk import Desk
from toprank.live.snapshots import LogPlace
from toprank.payments.roles import rows_of

_RENAMED = ("payment", "card", "terminal")


def remember(desk: Path, payments: Path, n_payments: int) -> int:
    """Let the first snapshot of a desk remember so many payments more; return how many it has."""
    table, n_added = pq.read_table(payments), 0
    with Desk.open(desk) as opened, opened.load_model(LogPlace()) as model:
        assert model.state_ is not None
        history = model.state_.history
        for copy in count():
            if n_added >= n_payments:
                break
            renamed = _renamed(table.slice(0, n_payments - n_added), f"{copy}-")
            history.batch(rows_of(history, renamed, model.classes_))
            n_added += renamed.num_rows
        opened.snapshots.write(history, LogPlace())
    return n_added


def _renamed(table: pa.Table, prefix: str) -> pa.Table:
    for name in _RENAMED:
        place = table.column_names.index(name)
        texts = pc.binary_join_element_wise(prefix, table[name].cast(pa.string()), "")
        table = table.set_column(place, name, texts)
    return table


if __name__ == "__main__":
    remember(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
