"""`toprank demo`: everything at once, in under a minute."""

import time
from pathlib import Path

import pandas as pd

from cli.running import start


def test_the_demo_trains_and_lists_in_under_a_minute():
    begin = time.perf_counter()
    run = start("demo", "--folder", "try/it")
    stdout, stderr = run.communicate(timeout=60)

    assert run.returncode == 0, stderr
    assert time.perf_counter() - begin < 60
    assert sorted(path.name for path in Path("try/it").iterdir()) == [
        "alerts.csv",
        "alerts.html",
        "last-day.parquet",
        "payments.html",
        "payments.parquet",
        "payments.toprank",
    ]
    assert "Expect about" in stdout
    assert "The first 3 of 20 alerts of the last day" in stdout
    assert stderr.splitlines()[0] == "Making 100 days of card payments with hidden frauds ..."
    assert stderr.splitlines()[-1].startswith("Wrote try/it/alerts.csv, try/it/alerts.html, ")
    assert "is_fraud" not in pd.read_csv("try/it/alerts.csv")
