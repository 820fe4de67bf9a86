"""Weekly folds of payments: those of `splits.prequential`, and methods that see no test labels."""

import numpy as np
import pyarrow as pa
import pytest

from toprank import metrics, splits
from toprank.payments.features import History, handbook_features
from toprank_bench import ExperimentError, datasets, find_experiment, read_experiment
from toprank_bench.learners.averages import BoostedAverage, ScaledLogistic
from toprank_bench.learners.rankers import LEARNERS, Learner, make_learner
from toprank_bench.protocols import Cell, prequential
from toprank_bench.protocols.prequential import PrequentialFolds

TEXT = """
title = "A few weeks"
source = "made up"
protocol = "prequential"
data = ["weeks", "rich"]
seeds = [0, 1]
metrics = ["average_precision", "card_precision(3)"]

[options.data.weeks]
set = "payments"
features = "handbook"
start = "2024-03-04"

[options.data.rich]
set = "payments"
features = "default"
start = "2024-03-04"

[sets.rich]
seeds = [1]
without = ["logistic"]

[methods.spy]
learner = "spy"

[methods.logistic]
learner = "scaled-logistic"
parameters = { max_iter = 200 }
"""
N_ROWS = 900


class Spy:
    """A learner that ranks by amount and keeps all it is given."""

    seen: list = []  # noqa: RUF012  (the fixture empties it)

    def __init__(self, *given, **parameters):
        self.seen.append(("made", given, parameters))

    def fit(self, *given):
        self.seen.append(("fit", *given))
        return self

    def suspicion(self, *given):
        self.seen.append(("asked", *given))
        return given[0]["amount"].to_numpy()


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setitem(LEARNERS, "spy", Learner(Spy))
    monkeypatch.setattr(PrequentialFolds, "learners", (*PrequentialFolds.learners, "spy"))
    monkeypatch.setattr(Spy, "seen", [])
    return Spy.seen


@pytest.fixture
def payments(monkeypatch):
    """Payments of five weeks; amounts give most of the frauds away."""
    generator = np.random.default_rng(0)
    seconds = np.sort(generator.integers(0, 35 * 86_400, N_ROWS))
    amount = generator.exponential(20, N_ROWS)
    is_fraud = amount + generator.normal(0, 25, N_ROWS) > 65
    dataset = datasets.Dataset(
        name="payments",
        features=pa.table(
            {
                "at": np.datetime64("2024-03-04T00:00:00", "us") + seconds.astype("m8[s]"),
                "who": generator.integers(0, 40, N_ROWS),
                "where": generator.integers(0, 9, N_ROWS),
                "amount": amount,
            }
        ),
        is_positive=is_fraud,
        positive="a fraud",
        source="a test",
        metadata=pa.table({}),
        roles={"time": "at", "card": "who", "terminal": "where", "amount": "amount"},
    )
    loaded = []
    monkeypatch.setattr(
        prequential.datasets, "load", lambda name, folder: loaded.append(name) or dataset
    )
    _forget()
    yield dataset
    _forget()
    assert loaded in ([], ["payments"])  # read once per process


def _forget():
    prequential._payments.cache_clear()
    prequential._features.cache_clear()


def experiment(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, "weeks")


def expected_fold(dataset, number):
    return splits.prequential(
        dataset.features["at"].to_numpy(),
        start="2024-03-04",
        n_folds=2,
        cards=dataset.features["who"].to_numpy(),
        is_positive=dataset.is_positive,
    )[number]


def own_features(dataset):
    table = dataset.features.rename_columns(["time", "card", "terminal", "amount"])
    table = table.append_column("is_positive", pa.array(dataset.is_positive))
    return History(handbook_features(), time="time", label="is_positive").batch(table)


@pytest.mark.parametrize("number", [0, 1])
def test_a_method_gets_a_week_with_labels_and_the_week_after_next_without(spy, payments, number):
    PrequentialFolds(experiment()).run(Cell("weeks", number, "spy"), None)
    fold, features = expected_fold(payments, number), own_features(payments)

    made, fit, asked = spy[-3:]
    assert made == ("made", (0,), {})
    assert fit[1].equals(features.take(fold.train))
    np.testing.assert_array_equal(fit[2], payments.is_positive[fold.train])
    assert fit[2].base is None  # no way from here to the labels of other rows
    assert len(asked) == 2
    assert asked[1].equals(features.take(fold.test))


def test_figures_and_ceiling_are_those_of_the_test_week(spy, payments):
    outcome = PrequentialFolds(experiment()).run(Cell("weeks", 1, "spy"), None)
    test = expected_fold(payments, 1).test
    table = payments.features.take(test)
    is_positive, amount = payments.is_positive[test], table["amount"].to_numpy()
    of_cards = table["who"].to_numpy(), splits.days(table["at"].to_numpy()), 3

    assert outcome.figures == {
        "average_precision": metrics.average_precision(is_positive, amount),
        "card_precision(3)": metrics.card_precision_at_k(is_positive, amount, *of_cards),
    }
    ceiling = metrics.card_precision_ceiling(is_positive, *of_cards)
    assert outcome.facts["ceiling of card_precision(3)"] == ceiling
    assert 0 < ceiling < 1
    assert outcome.facts["test_positives"] == is_positive.sum()
    assert outcome.facts["test_period"][0].startswith("2024-03-25")


def test_labels_of_the_test_week_change_no_feature_of_it(spy, payments):
    protocol = PrequentialFolds(experiment())
    protocol.run(Cell("weeks", 1, "spy"), None)
    asked = spy[-1][1]
    test = expected_fold(payments, 1).test
    payments.is_positive[test] ^= True
    prequential._features.cache_clear()
    protocol.run(Cell("weeks", 1, "spy"), None)
    assert spy[-1][1].equals(asked)


def test_a_rich_set_of_features_is_one_word(spy, payments):
    protocol = PrequentialFolds(experiment())
    protocol.run(Cell("rich", 1, "spy"), None)
    assert spy[-1][1].num_columns == 44


def test_frauds_at_terminals_of_no_known_fraud_are_counted_where_the_file_has_them():
    fold = splits.Fold(np.arange(2), np.array([3, 4, 5, 6]), np.arange(0), {})
    test = pa.table({"risk_1d": [0.0, 0.0, 0.5, 0.0], "risk_7d": [0.0, 0.1, 0.0, 0.0]})
    scenario = pa.table({"label": [0, 0, 0, 2, 2, 2, 1]})
    handbook = _bare("handbook_transactions", scenario)
    assert prequential._unseen_terminals(handbook, fold, test) == {
        "terminal_frauds": 3,
        "unseen_terminal_frauds": 1,
    }
    assert prequential._unseen_terminals(_bare("other", scenario), fold, test) == {}


def _bare(name, metadata):
    return datasets.Dataset(name, pa.table({}), np.zeros(7, bool), "", "", metadata, {})


def test_cells_go_set_by_set_with_their_own_folds_and_methods(spy):
    assert PrequentialFolds(experiment()).cells() == [
        Cell("weeks", 0, "spy"),
        Cell("weeks", 0, "logistic"),
        Cell("weeks", 1, "spy"),
        Cell("weeks", 1, "logistic"),
        Cell("rich", 1, "spy"),
    ]


def test_a_set_that_does_not_say_who_paid_is_left_out_with_a_sentence(spy, payments):
    protocol = PrequentialFolds(experiment())
    assert protocol.why_not_data("weeks", None) is None
    del payments.roles["card"]
    assert protocol.why_not_data("weeks", None) == (
        "data set 'payments' must have the roles time, card, terminal, amount; it lacks card."
    )


def test_a_wrong_parameter_leaves_a_method_out_with_a_sentence(spy):
    protocol = PrequentialFolds(experiment(("max_iter = 200", "max_itre = 200")))
    assert "max_itre" in protocol.why_not_method("logistic")
    assert protocol.why_not_method("spy") is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("[options.data.rich]", "[options.data.poor]"), "must say what 'rich' is; it has weeks"),
        (('features = "default"', 'features = "all"'), "must be one of 'handbook', 'default'"),
        (('start = "2024-03-04"', "start = 2024-03-04"), "start must be a date in quotes"),
        (('start = "2024-03-04"', 'start = "Monday"'), "start must be a date in quotes"),
        (('set = "payments"\n', ""), "must have set, features, start"),
        (("card_precision(3)", "card_precision(0)"), "there is card_precision(K)"),
        (("[options.data.weeks]", "[options]\nweeks = 3\n[options.data.weeks]"), "option 'weeks'"),
        (('learner = "spy"', 'learner = "spy"\ngrid = { a = [1] }'), "must have no grid"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(spy, change, sentence):
    with pytest.raises(ExperimentError, match=r"weeks\.toml: ") as raised:
        experiment(change)
    assert sentence in str(raised.value)


def test_an_average_is_the_mean_of_its_members_and_part_of_a_forest(payments):
    features = payments.features.select(["amount", "where"])
    is_positive = payments.is_positive
    parameters = {"loss": "log", "n_estimators": 3, "subsample": 0.6}
    members = [
        make_learner("boosted", seed, parameters).fit(features, is_positive).suspicion(features)
        for seed in (5, 6)
    ]
    alone = BoostedAverage(5, members=2, **parameters).fit(features, is_positive)
    np.testing.assert_allclose(alone.suspicion(features), np.mean(members, axis=0))
    blend = BoostedAverage(5, members=2, forest=0.5, **parameters).fit(features, is_positive)
    added = blend.suspicion(features) - alone.suspicion(features)
    chance = blend.forest.predict_proba(features.to_pandas().to_numpy())[:, 1]
    np.testing.assert_allclose(added, 0.5 * np.log((chance + 1e-4) / (1 - chance + 1e-4)))


def test_logistic_regression_does_not_mind_the_scale_of_a_column(payments):
    features, is_positive = payments.features.select(["amount", "where"]), payments.is_positive
    large = features.set_column(0, "amount", pa.array(1e6 * features["amount"].to_numpy()))
    plain = ScaledLogistic(0).fit(features, is_positive).suspicion(features)
    np.testing.assert_allclose(ScaledLogistic(0).fit(large, is_positive).suspicion(large), plain)
    assert metrics.average_precision(is_positive, plain) > 3 * is_positive.mean()


def test_the_handbook_experiment_has_every_method_on_the_test_weeks():
    handbook = find_experiment("handbook")
    cells = PrequentialFolds(handbook).cells()
    assert sum(cell.data == "handbook-15" for cell in cells) == 4 * len(handbook.methods)
    quick = handbook.made_quick()
    assert {cell.seed for cell in PrequentialFolds(quick).cells()} == {0, 1}
