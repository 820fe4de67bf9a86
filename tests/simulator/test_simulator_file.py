"""Payments to a file: complete, the same however grouped, in memory that does not grow."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.simulator import Simulation, tables_by_day, write_folder, write_parquet

MOST_MEMORY = """
import resource, sys
from toprank.simulator import Simulation, write_parquet
write_parquet(Simulation(1_000, 2_000, int(sys.argv[1])), sys.argv[2], group_rows=50_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("group_rows", [1, 700, 10**9])
def test_the_file_holds_the_days_one_after_the_other_however_they_are_grouped(
    group_rows, tmp_path
):
    simulation = Simulation(100, 200, 30, details=True, claims=True, checks_a_day=3)
    path = tmp_path / "payments.parquet"
    reported = []
    written = write_parquet(
        simulation, path, lambda *done: reported.append(done), group_rows=group_rows
    )
    days = list(tables_by_day(simulation))
    table = pq.read_table(path)
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    assert table.drop_columns("id").equals(pa.concat_tables(days))
    numbers = [int(text.removeprefix("payment-")) for text in table["id"].to_pylist()]
    assert numbers == list(range(1, table.num_rows + 1))
    assert written == (table.num_rows, sum(table["is_fraud"].to_pylist()))
    assert reported == [(done, 30) for done in range(1, 31)]
    assert all(n_rows >= group_rows for n_rows in groups[:-1])
    assert len(groups) == {1: 30, 700: len(groups), 10**9: 1}[group_rows]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_file_without_any_payment_still_has_its_columns(tmp_path):
    quiet = next(
        simulation
        for simulation in (Simulation(1, 1, 1, random_state=seed) for seed in range(100))
        if next(tables_by_day(simulation)).num_rows == 0
    )
    path = tmp_path / "payments.parquet"

    assert write_parquet(quiet, path) == (0, 0)
    assert pq.read_table(path).drop_columns("id").equals(next(tables_by_day(quiet)))


def test_a_run_that_fails_leaves_an_existing_file_unchanged(tmp_path):
    path = tmp_path / "payments.parquet"
    path.write_text("what was here before")

    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(Simulation(50, 100, 10), path, stop, group_rows=1)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "what was here before"


@pytest.mark.slow
def test_eight_times_as_many_days_need_no_more_memory(tmp_path):
    def megabytes(n_days):
        path = tmp_path / f"{n_days}.parquet"
        command = [sys.executable, "-c", MOST_MEMORY, str(n_days), str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(run.stdout) / 1024, pq.read_metadata(path).num_rows

    shorter, _ = megabytes(60)
    longer, n_rows = megabytes(480)

    assert n_rows > 850_000  # 40 MB as a table
    assert longer < shorter + 25


@pytest.mark.slow
def test_the_base_case_takes_less_than_a_minute(tmp_path):
    began = time.perf_counter()
    written = write_parquet(Simulation(), tmp_path / "payments.parquet")

    assert time.perf_counter() - began < 60
    assert written.n_payments == pytest.approx(1_774_000, rel=0.03)
    assert written.n_frauds / written.n_payments == pytest.approx(0.0084, rel=0.06)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("payments.csv", ValueError, "payments.csv must end in .parquet or .pq; got '.csv'."),
        ("payments", ValueError, "payments must end in .parquet or .pq; got ''."),
        ("nowhere/payments.parquet", FileNotFoundError, "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_at_once(name, error, message, tmp_path):
    with pytest.raises(error) as raised:
        write_parquet(Simulation(10, 10, 1), Path(tmp_path, name))

    assert message in str(raised.value)


def test_a_folder_has_a_file_per_day_with_the_rows_and_ids_of_one_file(tmp_path):
    simulation = Simulation(100, 200, 5, start="2024-02-27")
    write_parquet(simulation, tmp_path / "payments.parquet")
    reported = []
    written = write_folder(simulation, tmp_path / "days", lambda *done: reported.append(done))
    paths = sorted((tmp_path / "days").iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in paths)

    assert [path.name for path in paths] == [
        f"2024-{day}.parquet" for day in ("02-27", "02-28", "02-29", "03-01", "03-02")
    ]
    assert table.equals(pq.read_table(tmp_path / "payments.parquet"))
    assert written == (table.num_rows, sum(table["is_fraud"].to_pylist()))
    assert reported == [(day, 5) for day in range(1, 6)]
