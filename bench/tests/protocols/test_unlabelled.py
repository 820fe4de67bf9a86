"""Known anomalies ranked without their labels: no detector sees one."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank import metrics
from toprank_bench import ExperimentError, read_experiment
from toprank_bench.protocols import Cell, unlabelled
from toprank_bench.protocols.unlabelled import Unlabelled

TEXT = """
title = "Two small sets"
source = "made up"
protocol = "unlabelled"
data = ["ring", "kinds"]
seeds = [0, 1]
metrics = ["average_precision", "roc_auc"]

[options]
most_rows = 150

[methods.forest]
learner = "isolation-forest"
parameters = { n_estimators = 20 }
"""


def experiment(old="", new=""):
    assert old in TEXT
    return read_experiment(TEXT.replace(old, new) if old else TEXT, "small-unlabelled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)
    is_far = np.arange(200) % 20 == 0
    x = np.where(is_far, 5.0, generator.normal(size=200))
    ring = {"row": np.arange(200), "x": x, "label": np.where(is_far, "far", "near")}
    kinds = {"x": x, "kind": np.where(np.arange(200) % 3, "a", "b")}
    gaps = {"x": pa.array(x, mask=x > 4), "z": x}
    for name, columns in (("ring", ring), ("kinds", kinds), ("gaps", gaps)):
        pq.write_table(pa.table({**columns, "y": is_far.astype(int)}), folder / f"{name}.parquet")
    return folder


class Spy:
    """A detector that keeps what it is given and ranks by the first column."""

    def __init__(self, kept):
        self.kept = kept

    def fit(self, *given):
        self.kept.append(given)

    def suspicion(self, *given):
        self.kept.append(given)
        return given[0][:, 0].astype(float)


@pytest.fixture
def spy(monkeypatch):
    kept = []
    monkeypatch.setattr(unlabelled, "make_detector", lambda *given: Spy(kept))
    monkeypatch.setattr(unlabelled, "compile_kernels", lambda *given: None)
    return kept


def test_a_detector_gets_rows_without_labels_and_ranks_the_same_rows(spy, folder):
    outcome = Unlabelled(experiment()).run(Cell("ring", 0, "forest"), folder)
    (learned,), (asked,) = spy
    np.testing.assert_array_equal(learned, asked)
    assert learned.shape == (150, 2)  # the row's number and x: no label, no y
    chosen = learned[:, 0].astype(int)
    is_far = chosen % 20 == 0
    assert outcome.figures == {
        "average_precision": metrics.average_precision(is_far, chosen),
        "roc_auc": metrics.roc_auc(is_far, chosen),
    }
    assert outcome.facts == {"rows": 150, "anomalies": int(is_far.sum())}


def test_a_seed_draws_its_rows_in_its_order(spy, folder):
    protocol = Unlabelled(experiment())
    for seed in (0, 0, 1):
        protocol.run(Cell("ring", seed, "forest"), folder)
    first, same, other = (given[0][:, 0] for given in spy[::2])
    expected = np.random.default_rng(0).permutation(200)[:150]
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(first, same)
    assert set(first) != set(other)


def test_categories_become_a_column_each(spy, folder):
    Unlabelled(experiment()).run(Cell("kinds", 0, "forest"), folder)
    rows = spy[0][0]
    assert rows.shape == (150, 3)
    np.testing.assert_array_equal(rows[:, 1] + rows[:, 2], 1)


def test_far_rows_are_found(folder):
    protocol = Unlabelled(experiment())
    assert len(protocol.cells()) == 4
    outcome = protocol.run(Cell("kinds", 0, "forest"), folder)
    assert outcome.figures["roc_auc"] > 0.95
    assert outcome.figures == protocol.run(Cell("kinds", 0, "forest"), folder).figures


def test_scores_that_are_no_numbers_are_refused(spy, folder, monkeypatch):
    monkeypatch.setattr(Spy, "suspicion", lambda self, rows: np.full(len(rows), np.nan))
    with pytest.raises(ValueError, match="suspicion must hold finite numbers"):
        Unlabelled(experiment()).run(Cell("ring", 0, "forest"), folder)


def test_gaps_and_missing_sets_are_reported(folder):
    protocol = Unlabelled(experiment())
    assert protocol.why_not_data("ring", folder) is None
    assert "column 'x' misses 10" in protocol.why_not_data("gaps", folder)
    table = pq.read_table(folder / "ring.parquet")
    nan = table.set_column(0, table.column_names[0], pa.array(np.full(len(table), np.nan)))
    pq.write_table(nan, folder / "nan.parquet")
    assert f"misses {len(table)}" in protocol.why_not_data("nan", folder)
    assert "nowhere.parquet" in protocol.why_not_data("nowhere", folder)
    assert protocol.why_not_method("forest") is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("most_rows", "rows", "option 'rows' is not one of the protocol unlabelled"),
        ("most_rows = 150", "most_rows = 1", "most_rows must be at least 2; got 1"),
        ("roc_auc", "auc", "metric 'auc' is not known"),
        ("parameters = { n_estimators = 20 }", "grid = { a = [1, 2] }", "must have no grid"),
        ("isolation-forest", "isolation", "learner 'isolation' is not known; did you mean"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=sentence):
        experiment(old, new)
