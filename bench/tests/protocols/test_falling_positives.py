"""Descents to few positives: the easiest leave first, and the first share is that of splits."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from small_experiment import write_set
from toprank_bench import ExperimentError, find_experiment, read_experiment
from toprank_bench.learners.rankers import LEARNERS, Learner
from toprank_bench.protocols import Cell, falling_positives
from toprank_bench.protocols.falling_positives import FallingPositives
from toprank_bench.protocols.stratified import StratifiedSplits

TEXT = """
title = "Going down"
source = "made up"
protocol = "falling-positives"
data = ["set", "set@0.2", "set@0.1"]
seeds = [1, 2]
metrics = ["average_precision", "roc_auc"]

[options]
test_share = 0.5
folds = 2
runs = 6
shares = [0.2, 0.1]

[methods.log]
learner = "boosted"
parameters = { loss = "log", warm_start_trees = 0 }
grid = { n_estimators = [2, 4] }

[methods.forest]
learner = "sklearn-random-forest"
parameters = { n_estimators = 5 }
"""


class ByRow:
    """A learner that ranks by row number and keeps what it is given."""

    seen: list = []  # noqa: RUF012  (the fixture empties it)

    def __init__(self, seed):
        self.seed = seed

    def fit(self, features, is_positive):
        self.seen.append((self.seed, features["row"].to_numpy(), is_positive))
        return self

    def suspicion(self, features):
        self.seen.append((self.seed, features["row"].to_numpy()))
        return features["row"].to_numpy().astype(float)


@pytest.fixture(autouse=True)
def no_descents_of_other_tests(monkeypatch):
    monkeypatch.setattr(falling_positives, "_DESCENTS", {})


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setitem(LEARNERS, "by-row", Learner(ByRow))
    monkeypatch.setattr(ByRow, "seen", [])
    monkeypatch.setattr("toprank_bench.protocols.stratified.compile_kernels", lambda *_: None)
    return ByRow.seen


def protocol(*changes):
    return FallingPositives(experiment(*changes))


def experiment(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, "down")


SPIED = (
    'learner = "sklearn-random-forest"\nparameters = { n_estimators = 5 }',
    'learner = "by-row"',
)


def write_rows(folder, n_positive=40, n_negative=80):
    """A set whose rows are numbered, every third of them positive as long as there are any."""
    is_positive = np.zeros(n_positive + n_negative, dtype=int)
    is_positive[: 3 * n_positive : 3] = 1
    row = np.arange(is_positive.size)
    pq.write_table(pa.table({"row": row, "y": is_positive}), folder / "set.parquet")
    return is_positive == 1


def test_the_whole_set_gives_the_mean_of_the_stratified_splits_with_following_seeds(tmp_path):
    write_set(tmp_path, "set", seed=1)
    text = TEXT.replace("falling-positives", "stratified").replace("runs = 6", "")
    text = text.replace("shares = [0.2, 0.1]", "").replace(', "set@0.2", "set@0.1"', "")
    splits = StratifiedSplits(read_experiment(text, "alone"))
    alone = [splits.run(Cell("set", seed, "log"), tmp_path).figures for seed in range(7, 13)]
    outcome = protocol().run(Cell("set", 2, "log"), tmp_path)
    for metric, value in outcome.figures.items():
        values = [figures[metric] for figures in alone]
        assert value == pytest.approx(np.mean(values))
        assert outcome.facts["deviations"][metric] == pytest.approx(np.std(values))


def test_the_positives_ranked_highest_leave_and_all_negatives_stay(spy, tmp_path):
    is_positive = write_rows(tmp_path)
    outcome = protocol(SPIED).run(Cell("set@0.1", 1, "forest"), tmp_path)
    assert (outcome.facts["positives"], outcome.facts["rows"]) == (9, 89)
    left = _rows_of_last_level(spy)
    assert left >= set(np.flatnonzero(~is_positive))
    positives = np.flatnonzero(is_positive)
    # it ranks by row number: those with the lowest stay, and such as were in no test
    untested = positives.size / 2**6
    assert len(set(positives[:9]) & left) >= 9 - 3 * untested
    assert max(left & set(positives)) < positives[25]


def _rows_of_last_level(seen):
    *_, (_, learned, _), (_, asked) = seen
    return {*learned.tolist(), *asked.tolist()}


def test_a_positive_that_was_in_no_test_is_the_last_to_leave():
    ranks = falling_positives._mean_where_known(np.array([6.0, 0.0, 4.0]), np.array([2, 0, 4]))
    assert ranks.tolist() == [3.0, np.inf, 1.0]


def test_a_method_gets_training_labels_only_and_its_test_rows_without(spy, tmp_path):
    is_positive = write_rows(tmp_path)
    protocol(SPIED).run(Cell("set@0.2", 1, "forest"), tmp_path)
    assert len(spy) == 2 * 6 * 2
    for (seed, learned, labels), (same, asked) in zip(spy[::2], spy[1::2], strict=True):
        assert seed == same
        assert not set(learned) & set(asked)
        np.testing.assert_array_equal(labels, is_positive[learned])
    assert [seed for seed, *_ in spy[::2]] == [*range(1, 7)] * 2


def test_a_share_follows_from_its_cell_alone_whatever_was_asked_before(spy, tmp_path):
    write_rows(tmp_path)
    going = protocol(SPIED)
    names = ("set", "set@0.1", "set@0.2")
    one_by_one = [going.run(Cell(name, 1, "forest"), tmp_path) for name in names]
    n_fits = len(spy)
    assert n_fits == 3 * 6 * 2  # no share twice
    for name, outcome in zip(names, one_by_one, strict=True):
        falling_positives._DESCENTS.clear()
        assert going.run(Cell(name, 1, "forest"), tmp_path).figures == outcome.figures


def test_a_share_that_cannot_be_reached_gets_a_sentence(spy, tmp_path):
    write_rows(tmp_path, n_positive=15)
    with pytest.raises(
        ValueError, match=r"share 0\.2 must leave some of the 15 positives alongside 80"
    ):
        protocol(SPIED).run(Cell("set@0.2", 1, "forest"), tmp_path)


def test_cells_begin_with_the_fewest_positives(spy):
    cells = protocol().cells()
    assert [(cell.data, cell.seed) for cell in cells[::2]] == [
        (data, seed) for seed in (1, 2) for data in ("set@0.1", "set@0.2", "set")
    ]


def test_data_and_methods_that_cannot_be_had_get_a_sentence(tmp_path):
    write_rows(tmp_path)
    assert protocol().why_not_data("set@0.2", tmp_path) is None
    assert "set" in protocol().why_not_data("set@0.2", tmp_path / "..")
    wrong = protocol(("n_estimators = 5", "n_trees = 5"))
    assert "n_trees" in wrong.why_not_method("forest")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("set@0.2", "set@0.3"), "data 'set@0.3' must be at one of the shares 0.2, 0.1"),
        (("shares = [0.2, 0.1]", "shares = [0.1, 0.2]"), "shares must be below 1 and fall"),
        (("shares = [0.2, 0.1]", "shares = 0.2"), "shares must be a list"),
        (("runs = 6", "runs = 0"), "runs must be at least 1"),
        (("seeds = [1, 2]", "seeds = [0, 1]"), "seeds must count descents from 1; got 0"),
        (("[methods.log]", "[sets.set]\ntuned = false\n[methods.log]"), "sets must be left out"),
        (
            ("folds = 2", "fodls = 2"),
            "option 'fodls' is not one of the protocol falling-positives",
        ),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(change, sentence):
    with pytest.raises(ExperimentError) as raised:
        experiment(change)
    assert sentence in str(raised.value)


def test_the_figure_of_the_paper_goes_down_to_three_per_cent():
    figure4 = find_experiment("sgbap-figure4")
    assert FallingPositives(figure4).cells()[0].data == "metaap_pima@0.03"
    assert {each.learner for each in figure4.methods} == {"boosted", "rank-boost"}
