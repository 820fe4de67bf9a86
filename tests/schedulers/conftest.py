"""A folder as docs/daily.md has it: a model with its history, and an inbox of two days."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from cli.running import run_main
from toprank.simulator import Simulation, tables_by_day


class DailyFolder(NamedTuple):
    """Where it is, and the two days whose payments are in its inbox."""

    path: Path
    days: tuple[str, str]

    def read(self, name):
        return pacsv.read_csv(self.path / name)


@pytest.fixture
def daily_folder(tmp_path, monkeypatch):
    days = list(
        tables_by_day(Simulation(n_cards=100, n_terminals=50, n_days=80, start="2025-01-01"))
    )
    table = pa.concat_tables(days)
    table = table.append_column("tx", pa.array([f"p{row}" for row in range(table.num_rows)]))
    n_past = sum(each.num_rows for each in days[:-2])
    pacsv.write_csv(table.slice(0, n_past), tmp_path / "payments.csv")
    (tmp_path / "inbox").mkdir()
    dates, begin = [], n_past
    for each in days[-2:]:
        rows = table.slice(begin, each.num_rows).drop_columns(["is_fraud"])
        dates.append(str(each["paid_at"][0].as_py())[:10])
        pacsv.write_csv(rows, tmp_path / "inbox" / f"payments-{dates[-1]}.csv")
        begin += each.num_rows
    outcome = run_main(
        *("fit", tmp_path / "payments.csv", "--label", "is_fraud", "--time", "paid_at"),
        *("--card", "card", "--terminal", "terminal", "--amount", "amount", "--id", "tx"),
        *("-k", 5, "--trees", 20, "--minutes", 0.001, "--jobs", 1),
    )
    assert outcome.exit_code == 0, outcome.stderr
    beside = Path(sys.executable).parent
    assert (beside / "toprank").exists()
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TOPRANK_FOLDER", str(tmp_path))
    return DailyFolder(tmp_path, tuple(dates))
