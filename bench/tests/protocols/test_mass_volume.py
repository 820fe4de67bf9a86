"""Areas under mass-volume curves: test rows are never learned from, mistakes are reported."""

import numpy as np
import pytest
from pytest import approx

from toprank_bench import ExperimentError, read_experiment
from toprank_bench.protocols import Cell, mass_volume_excess
from toprank_bench.protocols.mass_volume_excess import MassVolume
from toprank_bench.simulated.anomaly_data import anomaly_sample

TEXT = """
title = "A small toy"
source = "made up"
protocol = "mass-volume"
data = ["toy"]
seeds = [0, 1]
metrics = ["area", "excess_area"]
lower_is_better = ["area", "excess_area"]

[options]
folds = 3

[methods.truth]
learner = "true-density"

[methods.tree]
learner = "anomaly-tree"
parameters = { global_depth = 3 }

[methods.forest]
learner = "isolation-forest"
parameters = { n_estimators = 5 }

[sets.toy]
without = []
"""


def experiment(*changes):
    """The small experiment, each change being a text and its replacement."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, "small-toy")


@pytest.fixture(autouse=True)
def small_toy(monkeypatch):
    def small(name, seed, n_points, folder=None):
        toy = anomaly_sample(name, seed, n_points, folder)
        return toy._replace(rows=toy.rows[:300], points=toy.points[::40])

    monkeypatch.setattr(mass_volume_excess, "anomaly_sample", small)
    return small("toy", 0, 1)


class Spy:
    """A detector that keeps all it is given and finds every place alike."""

    def __init__(self, kept):
        self.kept = kept

    def fit(self, rows):
        self.kept.append(("fit", rows))

    def suspicion(self, rows):
        self.kept.append(("asked", rows))
        return np.zeros(len(rows))


@pytest.fixture
def spy(monkeypatch):
    kept = []
    monkeypatch.setattr(mass_volume_excess, "make_detector", lambda *given: Spy(kept))
    monkeypatch.setattr(mass_volume_excess, "compile_kernels", lambda *given: None)
    return kept


def as_set(rows):
    return {tuple(row) for row in rows.tolist()}


def test_a_method_is_judged_on_each_row_once_and_never_on_one_it_learned_from(spy, small_toy):
    outcome = MassVolume(experiment()).run(Cell("toy", 0, "forest"), None)
    fits = [rows for kind, rows in spy if kind == "fit"]
    assert [len(rows) for rows in fits] == [200, 200, 200]
    everyone, places = as_set(small_toy.rows), as_set(small_toy.points)
    learned, judged = set(), []
    for kind, rows in spy:
        if kind == "fit":
            learned = as_set(rows)
        elif not as_set(rows) <= places:
            judged += rows.tolist()
            assert as_set(rows) == everyone - learned
    assert len(judged) == 300 and as_set(np.array(judged)) == everyone
    assert outcome.figures["area"] == approx(0.5)  # all places alike


def test_the_excess_is_over_the_true_density_on_the_same_rows(spy):
    protocol = MassVolume(experiment())
    truth = protocol.run(Cell("toy", 1, "truth"), None)
    alike = protocol.run(Cell("toy", 1, "forest"), None)
    assert truth.figures["excess_area"] == 0
    assert truth.figures["area"] == approx(0.24, abs=0.02)
    assert alike.figures["excess_area"] == approx(0.5 - truth.figures["area"])


def test_detectors_are_near_the_true_density_and_a_tree_knows_its_exact_area():
    protocol = MassVolume(experiment())
    forest = protocol.run(Cell("toy", 0, "forest"), None)
    tree = protocol.run(Cell("toy", 0, "tree"), None)
    for outcome in (forest, tree):
        assert 0 < outcome.figures["excess_area"] < 0.1
        assert len(outcome.facts["areas_of_folds"]) == 3
        assert np.mean(outcome.facts["areas_of_folds"]) == approx(
            outcome.figures["area"], abs=1e-5
        )
        assert (outcome.facts["rows"], outcome.facts["points"]) == (300, 1_000)
    assert tree.facts["exact_area"] == approx(
        tree.figures["area"], abs=2 * tree.facts["width_of_points"]
    )
    assert "exact_area" not in forest.facts
    assert protocol.run(Cell("toy", 0, "tree"), None).figures == tree.figures


def test_cells_go_seed_by_seed_and_leave_out_what_a_set_is_without():
    cells = MassVolume(experiment(("without = []", "without = ['tree']"))).cells()
    names = [(cell.seed, cell.method) for cell in cells]
    assert names == [(0, "truth"), (0, "forest"), (1, "truth"), (1, "forest")]


REAL = ('data = ["toy"]', 'data = ["payments"]')
NO_SETS = ("[sets.toy]\nwithout = []", "")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ([REAL, NO_SETS], "metric 'excess_area' must be left out with data 'payments', whose"),
        (
            [
                REAL,
                NO_SETS,
                ('metrics = ["area", "excess_area"]', 'metrics = ["area"]'),
                ('lower_is_better = ["area", "excess_area"]', ""),
            ],
            "methods.truth must be left out with data 'payments', whose true density",
        ),
        ([("toy", "toys")], "data 'toys' is not a sample of this protocol; did you mean 'toy'"),
        ([("folds = 3", "fold = 3")], "option 'fold' is not one of the protocol mass-volume; did"),
        ([("folds = 3", "folds = 1")], "folds must be at least 2; got 1"),
        ([('["area",', '["volume",')], "a metric of the protocol mass-volume must be one of"),
        ([("isolation-forest", "pyod-ecod")], "methods.forest: learner 'pyod-ecod' is not known"),
        (
            [("parameters = { n_estimators = 5 }", "grid = { n_estimators = [5, 9] }")],
            "methods.forest must have no grid, since the protocol mass-volume has no labels",
        ),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(changes, sentence):
    with pytest.raises(ExperimentError, match=sentence):
        experiment(*changes)


def test_what_is_not_available_is_reported(monkeypatch, tmp_path):
    monkeypatch.undo()
    protocol = MassVolume(experiment())
    assert protocol.why_not_data("toy", tmp_path) is None
    assert "adbench_satellite.parquet" in protocol.why_not_data("satellite", tmp_path)
    assert protocol.why_not_method("truth") is None
    wrong = MassVolume(experiment(("n_estimators = 5", "trees = 5")))
    assert "method 'forest' is left out" in wrong.why_not_method("forest")
