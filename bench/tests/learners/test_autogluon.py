"""AutoGluon runs in an environment of its own, whose absence is reported by name."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from toprank_bench.learners import autogluon_rival
from toprank_bench.learners.rankers import make_learner

WORKER = """
import sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
folder, step = Path(sys.argv[1]), sys.argv[2]
if step == "fit":
    assert pq.read_table(folder / "train.parquet").column_names == ["x", "is_positive"]
else:
    x = pq.read_table(folder / "test.parquet")["x"]
    pq.write_table(pa.table({"probability": x}), folder / "scores.parquet")
"""


def test_without_its_environment_the_sentence_says_how_to_make_it(monkeypatch):
    monkeypatch.setenv(autogluon_rival.VARIABLE, "/no/such/python")
    with pytest.raises(ImportError, match=r"/no/such/python.*make bench-autogluon"):
        make_learner("autogluon", 0, {})


def test_tables_go_to_the_other_process_and_scores_come_back(monkeypatch, tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    monkeypatch.setenv(autogluon_rival.VARIABLE, sys.executable)
    monkeypatch.setattr(autogluon_rival, "_WORKER", tmp_path / "worker.py")
    table = pa.table({"x": [0.1, 0.9, 0.4]})
    ranker = make_learner("autogluon", 0, {"time_limit": 1})
    ranker.fit(table, np.array([False, True, False]))
    assert ranker.suspicion(table).tolist() == [0.1, 0.9, 0.4]


def test_a_failure_of_the_other_process_is_reported(monkeypatch, tmp_path):
    (tmp_path / "worker.py").write_text("raise SystemExit('out of memory')")
    monkeypatch.setenv(autogluon_rival.VARIABLE, sys.executable)
    monkeypatch.setattr(autogluon_rival, "_WORKER", tmp_path / "worker.py")
    with pytest.raises(RuntimeError, match="AutoGluon failed: out of memory"):
        make_learner("autogluon", 0, {}).fit(pa.table({"x": [1.0]}), np.array([True]))
