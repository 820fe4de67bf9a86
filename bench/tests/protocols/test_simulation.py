"""Simulated designs: what methods see of a draw, and which draws they choose by."""

import re

import numpy as np
import pytest

from toprank.metrics import roc_auc
from toprank_bench import ExperimentError, read_experiment
from toprank_bench.learners.rankers import LEARNERS, Learner
from toprank_bench.protocols import Cell
from toprank_bench.protocols.simulation import SimulatedSamples
from toprank_bench.simulated.boxes import BoxDesign, drawn

WORLD = "6 of 200, 2 dimensions"
TEXT = """
title = "One small design"
source = "made up"
protocol = "simulation"
data = ["6 of 200, 2 dimensions"]
seeds = { from = 1, to = 3 }
metrics = ["roc_auc", "average_precision"]

[options]
tuned_on = { from = 101, to = 102 }

[methods.first]
learner = "boosted"
parameters = { column = "x1" }

[methods.tuned]
learner = "boosted"
grid = { column = ["x1", "x2"] }

[quick]
seeds = [1]
"""


class Spy:
    """A learner that ranks by one column and keeps all it is given."""

    seen: list = []  # noqa: RUF012  (the fixture empties it)

    def __init__(self, seed, column):
        self.seen.append(("made", seed, column))
        self.column = column

    def fit(self, *given):
        self.seen.append(("fit", *given))
        return self

    def suspicion(self, *given):
        self.seen.append(("asked", *given))
        return given[0][self.column].to_numpy().astype(float)


@pytest.fixture(autouse=True)
def spy(monkeypatch):
    monkeypatch.setitem(LEARNERS, "boosted", Learner(Spy))
    monkeypatch.setattr(Spy, "seen", [])
    monkeypatch.setattr("toprank_bench.protocols.simulation.compile_kernels", lambda *_: None)
    return Spy.seen


def protocol(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return SimulatedSamples(read_experiment(text, "small"))


def auc(seed, column):
    _, test = drawn(BoxDesign(6, 200, 2), seed)
    return roc_auc(test.is_positive, test.features[column].to_numpy())


def test_a_method_gets_the_rows_of_its_draw_and_a_test_without_labels(spy):
    outcome = protocol().run(Cell(WORLD, 2, "first"), None)
    train, test = drawn(BoxDesign(6, 200, 2), 2)

    (made, fit, asked) = spy
    assert made == ("made", 2, "x1")
    assert fit[1].equals(train.features)
    np.testing.assert_array_equal(fit[2], train.is_positive)
    assert asked[1].equals(test.features) and len(asked) == 2
    assert outcome.figures["roc_auc"] == auc(2, "x1")
    assert set(outcome.figures) == {"roc_auc", "average_precision"}
    assert outcome.facts == {
        "rows": 200,
        "test_rows": 12_000,
        "test_positives": 2_000,
        "candidates": 1,
    }


@pytest.mark.parametrize(("first", "last"), [(101, 102), (103, 106), (109, 109)])
def test_a_grid_is_chosen_from_by_the_mean_auc_of_other_draws(first, last):
    declared = protocol(("from = 101, to = 102", f"from = {first}, to = {last}"))
    means = {
        column: np.mean([auc(seed, column) for seed in range(first, last + 1)])
        for column in ("x1", "x2")
    }
    best = max(means, key=means.get)

    outcome = declared.run(Cell(WORLD, 1, "tuned"), None)
    assert outcome.parameters == {"column": best}
    assert outcome.facts["tuned_auc"] == pytest.approx(means[best])
    assert outcome.figures["roc_auc"] == auc(1, best)


def test_all_seeds_share_one_choice(spy):
    declared = protocol(("from = 101, to = 102", "from = 111, to = 113"))
    declared.run(Cell(WORLD, 1, "tuned"), None)
    n_tuned = len(spy)
    declared.run(Cell(WORLD, 2, "tuned"), None)
    assert [seed for kind, seed, *_ in spy if kind == "made"] == [
        111,
        111,
        112,
        112,
        113,
        113,
        1,
        2,
    ]
    assert len(spy) == n_tuned + 3


def test_cells_come_seed_by_seed():
    assert protocol().cells()[:3] == [
        Cell(WORLD, 1, "first"),
        Cell(WORLD, 1, "tuned"),
        Cell(WORLD, 2, "first"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("tuned_on", "tuned_by", "option 'tuned_by' is not one of the protocol simulation"),
        ("{ from = 101, to = 102 }", "3", "tuned_on must be like {from = 1001, to = 1020}; got 3"),
        ("from = 101", "from = 3", "none of the seeds that figures come from; both have 3."),
        ("to = 102", "to = 99", "tuned_on.to must be at least 101; got 99."),
        ("tuned_on = { from = 101, to = 102 }", "", "the grid of method 'tuned' by; it is not"),
        ("of 200, 2", "of 200, 4", "a design must be named like '6 of 1000, 2 dimensions'"),
        ('"roc_auc"', '"roc_au"', "metric 'roc_au' is not known; did you mean 'roc_auc'?"),
    ],
)
def test_a_mistake_in_a_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=re.escape(sentence)):
        protocol((old, new))
