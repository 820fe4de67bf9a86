"""A table of payments, and a model fitted on it by the command line."""

import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from blank_figures import draw_nothing
from cli.running import Outcome, run_main, written
from toprank.cli.standard_streams import STOPPING


def made_payments(n_rows=600):
    generator = np.random.default_rng(2)
    amount = generator.gamma(2.0, 40.0, n_rows).round(2)
    country = generator.choice(["FR", "DE", "US"], n_rows, p=[0.6, 0.2, 0.2])
    is_fraud = ((amount > 130) & (country == "US")) | (generator.random(n_rows) < 0.02)
    start_of_year = pd.Timestamp("2024-01-01")
    days = np.sort(generator.random(n_rows)) * 60
    return pd.DataFrame(
        {
            "paid_at": (start_of_year + pd.to_timedelta(days, unit="D")).floor("s").astype(str),
            "amount": amount,
            "country": country,
            "hour": generator.integers(0, 24, n_rows),
            "is_fraud": is_fraud.astype(int),
        }
    )


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _signals_are_heard():
    """Hear the signals that stop a command: `nohup make test &` would ignore some of them."""
    ignored = [each for each in STOPPING if signal.getsignal(each) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def _with_blank_figures(monkeypatch):
    """Draw nothing in reports that a test writes by itself: it takes longer than all else.

    Fixtures that many tests share are made before and write their reports with all figures; what
    figures make of odd rows and names is tested with the reports.
    """
    draw_nothing(monkeypatch)


@pytest.fixture(scope="session")
def payments():
    return made_payments()


@pytest.fixture
def csv(payments):
    """The path of the payments as a CSV, in the folder the test runs in."""
    return written(payments, "payments.csv")


class FittedByCommand(NamedTuple):
    outcome: Outcome
    model: Path
    report: Path


@pytest.fixture(scope="session")
def fitted(payments, tmp_path_factory):
    """What `toprank fit --time` printed and wrote."""
    folder = tmp_path_factory.mktemp("fitted")
    data = written(payments, folder / "payments.csv")
    outcome = run_main(
        *("fit", data, "--label", "is_fraud", "--time", "paid_at"),
        *("-k", 5, "--trees", 20, "--jobs", 1),
    )
    assert outcome.exit_code == 0, outcome.stderr
    return FittedByCommand(outcome, folder / "payments.toprank", folder / "payments.html")


@pytest.fixture(scope="session")
def tree(payments, tmp_path_factory):
    """What `toprank fit --learner metaap` printed and wrote."""
    folder = tmp_path_factory.mktemp("tree")
    data = written(payments, folder / "payments.csv")
    outcome = run_main(
        *("fit", data, "--label", "is_fraud", "--time", "paid_at", "-k", 5, "--jobs", 1),
        *("--learner", "metaap"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    return FittedByCommand(outcome, folder / "payments.toprank", folder / "payments.html")
