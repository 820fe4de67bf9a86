"""Progressive validation: one pass over the other folds, test rows without their labels."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import KFold

from toprank_bench import ExperimentError, find_experiment, read_experiment
from toprank_bench.learners.online_rivals import ONLINE_LEARNERS, _Maker
from toprank_bench.protocols import Cell
from toprank_bench.protocols.progressive import ProgressiveValidation

TEXT = """
title = "Two small streams"
source = "made up"
protocol = "progressive"
data = ["first", "second"]
seeds = [1, 2]
metrics = ["error", "error_at_published_size", "progressive_error", "weak_learners"]
lower_is_better = ["error"]

[options]
folds = 3

[options.published_sizes]
first = { theirs = 5 }
second = { theirs = 7 }

[sets.second]
seeds = [1]
without = ["single"]

[methods.mine]
learner = "spy"
grid = { n_learners = ["theirs", 10], share = [0.4, 0.2] }

[methods.single]
learner = "spy"
parameters = { share = 0.5 }
"""


class Spy:
    """A learner that is wrong on a given share of the stream and keeps all it is given."""

    seen: list = []  # noqa: RUF012  (the fixture empties it)

    def __init__(self, seed, share, n_learners=1):
        self.seed, self.share, self.n_learners = seed, share, n_learners

    def score_then_learn(self, *given):
        self.seen.append((self, "stream", *given))
        _, is_positive = given
        is_wrong = np.arange(is_positive.size) < self.share * is_positive.size
        return np.where(is_positive ^ is_wrong, 1.0, -1.0)

    def suspicion(self, *given):
        self.seen.append((self, "test", *given))
        return row_numbers(given[0]) % self.n_learners - 2.0


class BetterWhenLarge(Spy):
    """A spy that is wrong less often the more weak learners it has."""

    def __init__(self, seed, share, n_learners=1):
        super().__init__(seed, share - n_learners / 100, n_learners)


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setitem(ONLINE_LEARNERS, "spy", _Maker(Spy, "spies"))
    monkeypatch.setattr(Spy, "seen", [])
    monkeypatch.setattr(
        "toprank_bench.protocols.progressive.compile_online_kernels", lambda *_: None
    )
    return Spy.seen


def experiment(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, "small")


def run(data, method="mine", seed=1, changes=(), name="first"):
    return ProgressiveValidation(experiment(*changes)).run(Cell(name, seed, method), data)


def labels(data, name="first"):
    return pq.read_table(data / f"{name}.parquet")["y"].to_numpy() == 1


def partings(is_positive, seed):
    return list(KFold(3, shuffle=True, random_state=seed).split(is_positive))


def row_numbers(features):
    return features["row"].to_numpy() if isinstance(features, pa.Table) else features[:, 0]


def test_every_candidate_learns_once_from_the_other_folds_in_an_order_of_the_seed(spy, data):
    run(data)
    is_positive = labels(data)
    streams = [given for _, kind, *given in spy if kind == "stream"]

    assert len(streams) == 3 * 4
    for number, (features, is_learning) in enumerate(streams):
        train, _ = partings(is_positive, 1)[number // 4]
        order = np.random.default_rng([1, number // 4]).permutation(train)
        np.testing.assert_array_equal(row_numbers(features), order)
        np.testing.assert_array_equal(is_learning, is_positive[order])
        assert is_learning.base is None  # no way from here to the labels of other rows


def test_test_rows_reach_only_the_candidates_chosen_and_without_labels(spy, data):
    run(data)
    asked = [(learner, *given) for learner, kind, *given in spy if kind == "test"]

    assert len(asked) == 3
    for (learner, features), (_, test) in zip(asked, partings(labels(data), 1), strict=True):
        assert (learner.share, learner.n_learners, learner.seed) == (0.2, 5, 1)
        assert features.column_names == ["row", "x", "kind"]
        np.testing.assert_array_equal(row_numbers(features), test)


def test_figures_are_means_over_folds_of_what_the_chosen_candidate_does(spy, data):
    outcome = run(data)
    is_positive = labels(data)
    errors = [
        np.mean((test % 5 - 2.0 > 0) != is_positive[test]) for _, test in partings(is_positive, 1)
    ]

    assert outcome.figures == pytest.approx(
        {
            "error": np.mean(errors),
            "error_at_published_size": np.mean(errors),
            "progressive_error": 0.2,
            "weak_learners": 5,
        }
    )
    assert outcome.parameters["fold 2"] == {"n_learners": 5, "share": 0.2}
    assert outcome.facts["rows"] == 90
    assert outcome.facts["candidates"] == 4
    fold = outcome.facts["folds"][0]
    assert fold["error"] == pytest.approx(errors[0], abs=1e-5)
    assert fold["validated"] == {
        "n_learners=5 share=0.4": 0.4,
        "n_learners=5 share=0.2": 0.2,
        "n_learners=10 share=0.4": 0.4,
        "n_learners=10 share=0.2": 0.2,
    }
    assert set(outcome.seconds) == {"learn", "score"}


def test_the_published_size_may_be_chosen_from_alone_while_another_has_fewer_errors(
    spy, data, monkeypatch
):
    monkeypatch.setitem(ONLINE_LEARNERS, "spy", _Maker(BetterWhenLarge, "spies"))
    outcome = run(data, name="second")
    fold = outcome.facts["folds"][0]
    assert fold["chosen"] == "n_learners=10 share=0.2"
    assert fold["chosen_at_published_size"] == "n_learners=7 share=0.2"
    assert outcome.figures["weak_learners"] == 10
    is_positive = labels(data, "second")
    for name, size in (("error", 10), ("error_at_published_size", 7)):
        errors = [
            np.mean((test % size - 2.0 > 0) != is_positive[test])
            for _, test in partings(is_positive, 1)
        ]
        assert outcome.figures[name] == pytest.approx(np.mean(errors))


def test_a_method_without_a_published_size_has_one_error_and_one_learner(spy, data):
    outcome = run(data, "single", seed=2)
    assert outcome.figures["error"] == outcome.figures["error_at_published_size"]
    assert outcome.figures["weak_learners"] == 1
    assert outcome.facts["folds"][0]["validated"] == {"as given": 0.5}


def test_columns_of_numbers_alone_become_a_matrix_with_gaps_as_nan(spy, tmp_path):
    rows = np.arange(30)
    flags = rows % 2 == 0
    x = pa.array([None, *range(29)])
    table = pa.table({"row": rows, "x": x, "flag": flags, "y": (rows % 3 == 0).astype(int)})
    pq.write_table(table, tmp_path / "first.parquet")
    run(tmp_path)
    _, _, features, _ = spy[0]
    assert features.shape == (20, 3)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features[:, 2], features[:, 0] % 2 == 0)
    np.testing.assert_array_equal(np.isnan(features[:, 1]), features[:, 0] == 0)


def test_scores_that_are_no_numbers_are_refused(spy, data, monkeypatch):
    monkeypatch.setattr(Spy, "suspicion", lambda self, rows: np.full(rows.num_rows, np.nan))
    with pytest.raises(ValueError, match="suspicion must hold finite numbers"):
        run(data)


def test_cells_go_seed_by_seed_over_the_sets_that_have_it(spy):
    assert ProgressiveValidation(experiment()).cells() == [
        Cell("first", 1, "mine"),
        Cell("first", 1, "single"),
        Cell("second", 1, "mine"),
        Cell("first", 2, "mine"),
        Cell("first", 2, "single"),
    ]


def test_what_is_not_available_is_reported_in_a_sentence(spy, data, monkeypatch):
    protocol = ProgressiveValidation(experiment())
    assert protocol.why_not_data("first", data) is None
    assert "was not found" in protocol.why_not_data("third", data)
    assert protocol.why_not_method("mine") is None
    wrong = ProgressiveValidation(experiment(("share = 0.5", "shore = 0.5")))
    assert "'single' is left out: learner 'spy' cannot be made" in wrong.why_not_method("single")

    def missing(*_, **__):
        raise ImportError("No module named 'spy'")

    monkeypatch.setitem(ONLINE_LEARNERS, "spy", _Maker(missing, "spies"))
    assert protocol.why_not_method("mine").endswith("install it with: pip install spies")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("folds = 3", "folds = 1", "folds must be"),
        ("folds = 3", "fold = 3", "option 'fold' is not one of the protocol progressive; did you"),
        ('"weak_learners"]', '"roc_auc"]', "metrics must be one of"),
        ("theirs = 7", "theirs = 0.5", r"published_sizes.second.theirs must be"),
        ("{ theirs = 7 }", "7", "published_sizes.second must be a table; got 7"),
        ('"theirs", 10', '"ours", 10', "a name in options.published_sizes.first; got 'ours'"),
        ('without = ["single"]', "tuned = false", "sets.second must have neither ranges nor"),
        ('learner = "spy"', 'learner = "boosted"', "learner 'boosted' is not known"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(spy, old, new, sentence):
    with pytest.raises(ExperimentError, match=sentence):
        experiment((old, new))


def test_the_sizes_of_the_thesis_are_those_published_and_their_candidates_come_first():
    thesis = find_experiment("thesis-table4-5")
    sizes = ProgressiveValidation(thesis).published_sizes
    published = thesis.published["weak_learners"]
    of_places = {(data, name): size for data in sizes for name, size in sizes[data].items()}
    assert of_places == published
    assert thesis.published["error"] == thesis.published["error_at_published_size"]
    for method in thesis.methods:
        candidates = ProgressiveValidation(thesis).candidates(method, "onlb_covtype")
        flags = [each.is_published for each in candidates]
        assert flags == sorted(flags, reverse=True)


def test_the_quick_experiment_has_every_method_on_sets_with_and_without_categories():
    thesis = find_experiment("thesis-table4-5")
    quick = ProgressiveValidation(thesis.made_quick())
    methods = {method.name for method in thesis.methods}
    for data in ("metaap_pima", "onlb_hiv"):
        assert {cell.method for cell in quick.cells() if cell.data == data} == methods
