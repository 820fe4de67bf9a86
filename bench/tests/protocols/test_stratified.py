"""Stratified splits: those of the papers' scripts, and methods that see no test labels."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import StratifiedKFold, train_test_split

from small_experiment import experiment
from toprank import metrics
from toprank_bench.learners.rankers import LEARNERS, Learner, make_learner
from toprank_bench.protocols import PROTOCOLS, Cell
from toprank_bench.protocols.stratified import StratifiedSplits


class Spy:
    """A learner that ranks by row number and keeps all it is given."""

    seen: list = []  # noqa: RUF012  (the fixture empties it)

    def __init__(self, *given, **parameters):
        self.seen.append(("made", given, parameters))

    def fit(self, *given):
        self.seen.append(("fit", *given))
        return self

    def suspicion(self, *given):
        self.seen.append(("asked", *given))
        return given[0]["row"].to_numpy().astype(float)


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setitem(LEARNERS, "spy", Learner(Spy))
    monkeypatch.setattr(Spy, "seen", [])
    monkeypatch.setattr("toprank_bench.protocols.stratified.compile_kernels", lambda *_: None)
    return Spy.seen


def spied(*changes):
    spying = ('learner = "boosted"', 'learner = "spy"')
    return StratifiedSplits(experiment(spying, *changes))


def labels(data, name="first"):
    return pq.read_table(data / f"{name}.parquet")["y"].to_numpy() == 1


def paper_split(is_positive, seed, test_size=1 / 3):
    np.random.seed(seed)  # noqa: NPY002  (as the papers' scripts do)
    rows = np.arange(is_positive.size)
    return train_test_split(rows, stratify=is_positive, test_size=test_size)


def row_numbers(table):
    return table["row"].to_numpy()


def test_a_method_gets_training_rows_with_labels_and_test_rows_without(spy, data):
    spied().run(Cell("first", 1, "log"), data)
    is_positive = labels(data)
    train, test = paper_split(is_positive, 1)

    fits = [given for kind, *given in spy if kind == "fit"]
    asked = [given for kind, *given in spy if kind == "asked"]
    assert len(fits) == 3 * 4 + 1
    for given in fits:
        features, is_learning = given
        assert set(row_numbers(features)) <= set(train)
        assert features.column_names == ["row", "x", "kind"]
        np.testing.assert_array_equal(is_learning, is_positive[row_numbers(features)])
        assert is_learning.base is None  # no way from here to the labels of other rows
    for (features,) in asked:
        assert features.column_names == ["row", "x", "kind"]
    assert all(set(row_numbers(features)) <= set(train) for (features,) in asked[:-1])
    assert set(row_numbers(asked[-1][0])) == set(test)
    assert set(row_numbers(fits[-1][0])) == set(train)
    made = [given for kind, *given in spy if kind == "made"]
    assert all(given == (1,) for given, _ in made)
    allowed = {"loss", "warm_start_trees", "max_depth", "n_estimators"}
    assert all(set(parameters) == allowed for _, parameters in made)


def test_held_out_folds_are_never_learned_from(spy, data):
    spied().run(Cell("first", 1, "log"), data)
    pairs = zip(spy[1:-3:3], spy[2:-3:3], strict=True)
    for (kind, learning, _), (other, asked) in pairs:
        assert (kind, other) == ("fit", "asked")
        assert not set(row_numbers(learning)) & set(row_numbers(asked))


def test_figures_are_those_of_the_test_rows_alone(spy, data):
    outcome = spied().run(Cell("first", 2, "log"), data)
    is_positive = labels(data)
    _, test = paper_split(is_positive, 2)

    assert outcome.figures == {
        "average_precision": metrics.average_precision(is_positive[test], test),
        "roc_auc": metrics.roc_auc(is_positive[test], test),
        "precision_at_k(100%)": metrics.precision_at_k(
            is_positive[test], test, int(is_positive[test].sum())
        ),
    }
    assert outcome.facts["test_rows"] == test.size
    assert outcome.facts["candidates"] == 4


@pytest.mark.parametrize("one_generator", [False, True])
def test_folds_are_drawn_anew_or_by_the_generator_of_the_split(spy, data, one_generator):
    option = f"folds = 3\none_generator = {str(one_generator).lower()}"
    spied(("folds = 3", option)).run(Cell("first", 1, "log"), data)
    is_positive = labels(data)
    train, _ = paper_split(is_positive, 1)
    folds = StratifiedKFold(3, shuffle=True, random_state=None if one_generator else 1)
    expected = [
        set(train[kept]) for kept, _ in folds.split(is_positive[train], is_positive[train])
    ]
    learned = [set(row_numbers(given[0])) for kind, *given in spy if kind == "fit"]
    assert learned[: 4 * 3 : 4] == expected


def test_a_set_without_tuning_takes_the_last_of_every_list(spy, data):
    protocol = spied(("[quick]", "[sets.first]\ntuned = false\n[quick]"))
    outcome = protocol.run(Cell("first", 1, "log"), data)
    assert (outcome.parameters["max_depth"], outcome.parameters["n_estimators"]) == (2, 4)
    assert [kind for kind, *_ in spy] == ["made", "fit", "asked"]


def test_one_fit_for_all_numbers_of_trees_chooses_as_a_fit_for_each_would(data, monkeypatch):
    cells = [Cell(name, seed, "log") for name in ("first", "second") for seed in (1, 2, 3)]
    protocol = StratifiedSplits(experiment())
    staged = [protocol.run(cell, data) for cell in cells]
    alone = Learner(lambda seed, **given: make_learner("boosted", seed, given))
    monkeypatch.setitem(LEARNERS, "alone", alone)
    one_by_one = StratifiedSplits(experiment(('learner = "boosted"', 'learner = "alone"')))
    for cell, outcome in zip(cells, staged, strict=True):
        other = one_by_one.run(cell, data)
        assert (outcome.parameters, outcome.figures) == (other.parameters, other.figures)
    assert len({str(outcome.parameters) for outcome in staged}) > 1


def test_ranges_are_read_as_their_lower_ends_by_every_method(spy, tmp_path):
    ages = ["30-39", "40-49", None] * 10
    y = [0, 1, 0] * 10
    table = pa.table({"row": np.arange(30), "age": pa.array(ages).dictionary_encode(), "y": y})
    pq.write_table(table, tmp_path / "first.parquet")
    protocol = spied(("[quick]", "[sets.first]\nranges = ['age']\n[quick]"))
    protocol.run(Cell("first", 1, "log"), tmp_path)
    _, features, _ = next(each for each in spy if each[0] == "fit")
    assert set(features["age"].to_pylist()) <= {30.0, 40.0, None}
    assert features["age"].type == pa.float64()
    assert protocol.why_not_data("first", tmp_path) is None
    wrong = spied(("[quick]", "[sets.first]\nranges = ['aeg']\n[quick]"))
    assert "column 'aeg' is not in the data set" in wrong.why_not_data("first", tmp_path)


def test_ranges_of_a_column_of_numbers_are_reported(data):
    declared = experiment(("[quick]", "[sets.first]\nranges = ['x']\n[quick]"))
    sentence = PROTOCOLS["stratified"](declared).why_not_data("first", data)
    assert "column 'x' must contain texts such as 30-34 to be read as ranges" in sentence


@pytest.mark.parametrize(
    ("n_positive", "tuned", "sentence"),
    [
        (
            1,
            "true",
            "data 'few' must have at least 2 positives, one to learn from",
        ),
        (
            2,
            "true",
            "a positive to learn from for each of 3 folds to choose by; it has 2",
        ),
        (2, "false", None),
        (3, "true", "it has 3 in all, so 2. Set fewer folds in options, or tuned = false in sets"),
        (4, "true", None),
    ],
)
def test_too_few_positives_are_reported_before_a_run(n_positive, tuned, sentence, tmp_path):
    table = pa.table({"x": np.arange(30.0), "y": (np.arange(30) < n_positive).astype(int)})
    pq.write_table(table, tmp_path / "few.parquet")
    declared = experiment(
        ('["first", "second"]', '["first", "few"]'),
        ("[quick]", f"[sets.few]\ntuned = {tuned}\n[quick]"),
    )
    found = PROTOCOLS["stratified"](declared).why_not_data("few", tmp_path)
    assert found is None if sentence is None else sentence in found


def test_scores_that_are_no_numbers_are_refused(spy, data, monkeypatch):
    monkeypatch.setattr(Spy, "suspicion", lambda self, rows: np.full(rows.num_rows, np.nan))
    protocol = spied(("[quick]", "[sets.first]\ntuned = false\n[quick]"))
    with pytest.raises(ValueError, match="suspicion must hold finite numbers"):
        protocol.run(Cell("first", 1, "log"), data)


def test_cuts_are_those_of_the_model_that_ranked_the_test(data):
    declared = experiment(
        ('"roc_auc"', '"cuts"'),
        ('"sklearn-random-forest"', '"xgboost-logistic"'),
        ("n_estimators = 5", "n_estimators = 2, max_depth = 1"),
    )
    outcome = StratifiedSplits(declared).run(Cell("first", 1, "forest"), data)
    assert list(outcome.figures) == ["average_precision", "precision_at_k(100%)", "cuts"]
    assert outcome.figures["cuts"] == 2


def test_cuts_are_refused_where_a_method_boosts_no_trees():
    with pytest.raises(ValueError, match="metric 'cuts' must be left out with method 'forest'"):
        experiment(('"roc_auc"', '"cuts"'))
