"""`toprank demo`: everything at once; the test of the wheel runs it at its full size."""

import sys
from functools import partial
from pathlib import Path

import pandas as pd

from cli.running import run_main
from toprank.simulator import simulate

FILES = [
    "alerts.csv",
    "alerts.html",
    "last-day.parquet",
    "payments.html",
    "payments.parquet",
    "payments.toprank",
]


def test_it_makes_payments_learns_and_lists_the_last_day(monkeypatch):
    monkeypatch.setattr("toprank.simulator.simulate", partial(simulate, n_cards=60))
    module = sys.modules["toprank.cli.demo"]  # the package has the command by this name
    monkeypatch.setattr(module, "_TREES", 10)
    outcome = run_main("demo", "--folder", "try/it")

    assert outcome.exit_code == 0, outcome.stderr
    assert sorted(path.name for path in Path("try/it").iterdir()) == FILES
    assert "Expect about" in outcome.stdout
    assert "The first 3 of 20 alerts of the last day" in outcome.stdout
    first, *_, last = outcome.stderr.splitlines()
    assert first == "Making 100 days of card payments with hidden frauds ..."
    assert last.startswith("Wrote try/it/alerts.csv, try/it/alerts.html, ")
    assert "is_fraud" not in pd.read_csv("try/it/alerts.csv")
