"""How long `toprank rank` takes, and how much memory, for rows that are far from its machine.

    AWS_ENDPOINT_URL=http://127.0.0.1:5000 python -m toprank_bench.speed.large_sources \
        --store s3://payments/large --database postgresql://ann@db/bank --rows 20000000

The same made-up payments are written to an object store, as files of Parquet, and to a table of
PostgreSQL, and a model that learned from some of them ranks them from both: a tenth of them, and
all. Memory is flat if the peak of both is about the same; the lists must be the same. Both
servers may be those of the tests: `python tests/s3_server.py`, `python tests/postgres_server.py`.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_PART = 500_000  # rows of one file
_ROW_GROUP = 125_000
_TRAINED = 50_000
_TABLE = "toprank_large_source"
_BUDGET = 100
_RUN = (
    "import os, resource, subprocess, sys, time\n"
    "begin = time.perf_counter()\n"
    "command = [sys.executable, '-c', 'from toprank.cli import main; main()', *sys.argv[1:]]\n"
    "subprocess.run(command, check=True)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print('took', time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
)


class SourceRun(NamedTuple):
    """What a run of `toprank rank` took, and the list it wrote."""

    source: str
    n_rows: int
    seconds: float
    of_processor: float
    peak_mb: float
    listed: pa.Table

    def __str__(self) -> str:
        return (
            f"{self.source:<12} {self.n_rows:>12,} rows  {self.seconds:8.1f} s by the clock  "
            f"{self.of_processor:8.1f} s of the processor  {self.peak_mb:6.0f} MB at most"
        )


def ranked_from_both(
    store: str, database: str, n_rows: int, n_part: int = _PART
) -> list[SourceRun]:
    """Return what ranking a tenth and all of the rows took, from the store and the database."""
    few = max(n_rows // 10 // n_part, 1)
    n_parts = max(n_rows // n_part, 2 * few)
    with TemporaryDirectory() as folder:
        model = Path(folder, "model.toprank")
        _fit(model)
        _write(store, database, n_parts, n_part)
        found = []
        for n_files in (few, n_parts):
            n_here = n_files * n_part
            pattern = f"{store.rstrip('/')}/part-*.parquet"
            if n_files < n_parts:
                pattern = f"{store.rstrip('/')}/few/part-*.parquet"
            query = f"select * from {_TABLE} where part < {n_files}"
            list_of = Path(folder, "list.parquet")
            found.append(_ranked("object store", n_here, model, list_of, pattern))
            sql = ("--sql", query, "--database", database)
            found.append(_ranked("PostgreSQL", n_here, model, list_of, *sql))
        return found


def payments(part: int, n_rows: int) -> pa.Table:
    """Return the rows of one part: always the same ones."""
    random = np.random.default_rng([1, part])
    amount = random.lognormal(3, 1.2, n_rows).astype(np.float32)
    hour = random.integers(0, 24, n_rows, dtype=np.int16)
    numbers = {f"v{i}": random.normal(size=n_rows).astype(np.float32) for i in range(6)}
    raw = numbers["v0"] + 0.7 * numbers["v1"] * (hour < 6) + np.log1p(amount) / 3
    is_fraud = raw + random.gumbel(size=n_rows) > 7.5
    return pa.table(
        {
            "part": np.full(n_rows, part, dtype=np.int32),
            "number": np.arange(n_rows, dtype=np.int64) + part * n_rows,
            "amount": amount,
            "hour": hour,
            "channel": np.array(["web", "shop", "phone"])[random.integers(0, 3, n_rows)],
            **numbers,
            "is_fraud": is_fraud,
        }
    )


def in_any_order(listed: pa.Table) -> pa.Table:
    """Return a list by the numbers of its payments, without the places where they were read."""
    names = ["number", "suspicion", "probability", "reasons", "amount", "hour", "channel"]
    table = listed.select(names).sort_by("number")
    # PostgreSQL has no smallest types; values are the same
    return table.cast(pa.schema([(name, _wide(table[name].type)) for name in names]))


def _fit(path: Path) -> None:
    from toprank import PaymentModel

    # rows that are not among those ranked
    rows = payments(10**6, _TRAINED).drop_columns(["part", "number"])
    model = PaymentModel("is_fraud", loss="log", n_estimators=100, budget=_BUDGET, n_jobs=1)
    model.fit(rows)
    model.save(path)


def _write(store: str, database: str, n_parts: int, n_part: int) -> None:
    """Write the same rows to both places; a tenth of the files once more, in a folder below."""
    from adbc_driver_postgresql import dbapi
    from pyarrow import fs

    filesystem, folder = fs.FileSystem.from_uri(store)
    few = max(n_parts // 10, 1)
    with dbapi.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(f"drop table if exists {_TABLE}")
        for part in range(n_parts):
            rows = payments(part, n_part)
            for place in _places(folder, part, few):
                with filesystem.open_output_stream(place) as file:
                    pq.write_table(rows, file, row_group_size=_ROW_GROUP)
            cursor.adbc_ingest(_TABLE, rows, mode="create_append")
        connection.commit()


def _places(folder: str, part: int, few: int) -> Iterator[str]:
    yield f"{folder}/part-{part:05d}.parquet"
    if part < few:
        yield f"{folder}/few/part-{part:05d}.parquet"


def _ranked(source: str, n_rows: int, model: Path, list_of: Path, *rows: str) -> SourceRun:
    arguments = ["rank", str(model), *rows, "-k", str(_BUDGET), "--no-page", "--force"]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments, "-o", str(list_of)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds, of_processor, peak = map(float, done.stdout.split("took")[-1].split())
    assert f"{n_rows:,} rows scored" in done.stderr, done.stderr
    listed = pq.read_table(list_of)
    return SourceRun(source, n_rows, seconds, of_processor, peak / 1024, listed)


@click.command()
@click.option("--store", required=True, help="Folder of an object store, such as s3://bucket/x.")
@click.option("--database", required=True, help="URL of a PostgreSQL database.")
@click.option("--rows", default=20_000_000, show_default=True, type=click.IntRange(1))
def main(store: str, database: str, rows: int) -> None:
    """Rank made-up payments from an object store and from PostgreSQL; print what it took."""
    begin = time.perf_counter()
    found = ranked_from_both(store, database, rows)
    for each in found:
        print(each)
    for source in ("object store", "PostgreSQL"):
        less, more = (each for each in found if each.source == source)
        more_rows, more_memory = more.n_rows / less.n_rows, more.peak_mb / less.peak_mb
        print(f"{source}: {more_memory:.2f} times the memory for {more_rows:.0f} times the rows")
    same = in_any_order(found[-2].listed).equals(in_any_order(found[-1].listed))
    print("the two lists are", "the same" if same else "different")
    print(f"{time.perf_counter() - begin:.0f} s in all, with writing the rows")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{own:.0f} MB at most for writing them")


def _wide(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else kind


if __name__ == "__main__":
    main()
