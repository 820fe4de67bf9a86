"""Held-out tests: later rows, whose labels no method sees."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank_bench import read_experiment
from toprank_bench.protocols import Cell
from toprank_bench.protocols.held_out import HeldOutTests

TEXT = """
title = "Held out"
source = "made up"
protocol = "held-out"
data = ["payments by time"]
seeds = [0, 1]
metrics = ["average_precision"]

[options.data."payments by time"]
set = "ulb_like"
train_before = 60
test_from = 70

[methods.log]
learner = "boosted"
parameters = { loss = "log", n_estimators = 3 }

[methods.forest]
learner = "sklearn-random-forest"
parameters = { n_estimators = 3 }
"""


@pytest.fixture
def folder(tmp_path, data, monkeypatch):
    generator = np.random.default_rng(0)
    y = generator.random(100) < 0.3
    table = pa.table({"Time": np.arange(100), "x": y + generator.normal(size=100), "y": y * 1})
    pq.write_table(table, tmp_path / "ulb_like.parquet")
    (tmp_path / "first.parquet").write_bytes((data / "first.parquet").read_bytes())
    from toprank_bench.datasets import known_sets

    known = known_sets.KnownSet(roles={"time": "Time"})
    monkeypatch.setattr(known_sets, "KNOWN", {**known_sets.KNOWN, "ulb_like": known})
    return tmp_path


def protocol(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return HeldOutTests(read_experiment(text, "mine"))


def test_later_rows_are_the_test_and_rows_between_are_left_out(folder):
    outcome = protocol().run(Cell("payments by time", 0, "log"), folder)
    assert (outcome.facts["train_rows"], outcome.facts["test_rows"]) == (60, 30)
    low, high = outcome.facts["ap_interval"]
    assert 0 <= low <= outcome.figures["average_precision"] <= high <= 1


def test_with_folds_the_test_period_is_left_alone(folder):
    declared = protocol(("test_from = 70", "test_from = 70\nfolds = 2"))
    tested = [declared.run(Cell("payments by time", seed, "log"), folder) for seed in (0, 1)]
    assert [each.facts["test_rows"] for each in tested] == [30, 30]
    assert [each.facts["train_rows"] for each in tested] == [30, 30]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("train_before = 60\n", "", "must have set, train_before and test_from"),
        ("test_from = 70", "test_form = 70\ntest_from = 70", "'test_form'.*'test_from'"),
        ('"average_precision"', '"average_precison"', "'average_precison'"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        protocol((old, new))


def test_a_set_without_a_time_column_is_reported(folder):
    sentence = protocol(('set = "ulb_like"', 'set = "first"')).why_not_data(
        "payments by time", folder
    )
    assert "first must have a time column" in sentence
