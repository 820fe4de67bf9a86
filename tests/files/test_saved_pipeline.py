"""Pipelines in model files: the same scores, no pickle, and nothing but known transformers."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from cli.running import one_sentence, run_main
from files.packing import rewrite
from toprank import BoostedRanker, RankRLS, load, save
from toprank.files import ModelFileError

N_ROWS = 300
NUMBERS = ["amount", "hour"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "amount": np.where(random.random(N_ROWS) < 0.2, np.nan, random.lognormal(size=N_ROWS)),
            "hour": random.integers(0, 24, N_ROWS).astype(float),
            "shop": random.choice(["a", "b", "c", "rare"], N_ROWS, p=[0.5, 0.3, 0.19, 0.01]),
            "note": np.where(random.random(N_ROWS) < 0.5, None, "by phone"),
        }
    )


@pytest.fixture(scope="module")
def is_fraud(table):
    return (table["amount"].fillna(0) > 1.5) & (table["shop"] != "a")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.toprank"


def numbers_through(step):
    """A pipeline in which the numbers, imputed, go through a step."""
    return make_pipeline(
        make_column_transformer((make_pipeline(SimpleImputer(), step), NUMBERS)),
        BoostedRanker(n_estimators=5),
    )


def mixed():
    columns = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                NUMBERS,
            ),
            (
                "shop",
                OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5),
                ["shop"],
            ),
            ("note", OneHotEncoder(drop="if_binary"), ["note"]),
            ("nothing", "drop", []),
        ],
        remainder="passthrough",
    )
    return make_pipeline(columns, RankRLS())


PIPELINES = {
    "columns of all kinds": mixed(),
    "pandas between the steps": numbers_through(StandardScaler()).set_output(transform="pandas"),
    "union": numbers_through(FeatureUnion([("a", StandardScaler()), ("b", PCA(1))])),
    "passthrough": Pipeline([("none", "passthrough"), ("ranker", BoostedRanker(n_estimators=3))]),
    "ordinal codes": make_pipeline(
        make_column_transformer(
            (preprocessing.OrdinalEncoder(encoded_missing_value=-2), ["note"]),
            (preprocessing.TargetEncoder(), ["shop"]),
        ),
        BoostedRanker(n_estimators=5),
    ),
    **{
        type(step).__name__: numbers_through(step)
        for step in (
            preprocessing.Binarizer(), preprocessing.KBinsDiscretizer(3),
            preprocessing.MaxAbsScaler(), preprocessing.MinMaxScaler(), preprocessing.Normalizer(),
            preprocessing.PolynomialFeatures(), preprocessing.PowerTransformer(),
            preprocessing.QuantileTransformer(n_quantiles=20), preprocessing.RobustScaler(),
            PCA(), TruncatedSVD(1, random_state=0), VarianceThreshold(),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.filterwarnings("ignore")
def test_a_loaded_pipeline_gives_the_same_scores(name, table, is_fraud, path):
    model = PIPELINES[name].fit(table, is_fraud)
    save(model, path, facts={"label": "is_fraud"})
    again = load(path)
    assert type(again) is Pipeline
    assert list(again.named_steps) == list(model.named_steps)
    new = table.sample(frac=1, random_state=1).assign(shop=lambda rows: rows["shop"].str.upper())
    for rows in (table, new if name == "columns of all kinds" else table):
        assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again[-1].classes_.tolist() == [False, True]
    assert str(again[:-1].get_params()) == str(model[:-1].get_params())
    with zipfile.ZipFile(path) as archive:
        assert {each.rpartition(".")[2] for each in archive.namelist()} <= {"json", "npy", "ubj"}


def test_a_loaded_pipeline_is_fitted_again_and_saved_again(table, is_fraud, path):
    save(mixed().fit(table, is_fraud), path)
    once = load(path)
    save(once.fit(table[:200], is_fraud[:200]), path)
    assert np.array_equal(load(path).decision_function(table), once.decision_function(table))


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (KNNImputer(), r"'knnimputer' is a KNNImputer, which no .* with skops\.io\.dump"),
        (FunctionTransformer(np.nan_to_num), r"func of step .* is a (ufunc|function|_Array)"),
        (SelectKBest(k=1), "'selectkbest' is a SelectKBest, which no"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_other_transformers_are_refused_with_the_way_out(step, sentence, table, is_fraud, path):
    rows = table[NUMBERS].fillna(0)
    model = make_pipeline(step, BoostedRanker(n_estimators=2)).fit(rows, is_fraud)
    with pytest.raises(TypeError, match=sentence):
        save(model, path)
    assert not path.exists()


def test_the_last_step_must_be_a_fitted_ranker(table, is_fraud, path):
    rows = table[["hour"]]
    with pytest.raises(TypeError, match="the last step of a pipeline must be a ranker of toprank"):
        save(make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, is_fraud), path)
    with pytest.raises(ValueError, match="not fitted"):
        save(make_pipeline(StandardScaler(), BoostedRanker()), path)


def test_a_folder_to_cache_in_is_not_saved(table, is_fraud, path, tmp_path):
    model = make_pipeline(
        StandardScaler(), BoostedRanker(n_estimators=2), memory=str(tmp_path / "cache")
    )
    save(model.fit(table[["hour"]], is_fraud), path)
    assert load(path).memory is None


def changed(path, change):
    """Change the state in a pipeline's manifest."""
    rewrite(path, lambda manifest, _: change(manifest["state"]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda step: step.update({"$transformer": "Popen"}), "a step must be one of"),
        (lambda step: step["state"].update({"__class__": 1}), "must not have '__class__'"),
        (lambda step: step["state"].update({"transform": 1}), "must not have 'transform'"),
        (lambda step: step["state"].update({"memory": "/tmp"}), "must not have 'memory'"),
        (lambda step: step["state"].update({"mean_": {"$pickle": "x"}}), "known tag"),
        (lambda step: step["state"].update({"mean_": {"$type": "|O"}}), "numbers or texts"),
        (lambda step: step["state"].update({"mean_": {"$array": "step99"}}), "step99"),
        (
            lambda step: step["state"].update({"mean_": {"$objects": [1], "shape": [2]}}),
            "1 values",
        ),
    ],
)
def test_a_file_that_was_changed_is_refused(change, sentence, table, is_fraud, path):
    save(make_pipeline(StandardScaler(), BoostedRanker(n_estimators=2)).fit(
        table[["hour"]], is_fraud), path)  # fmt: skip
    changed(path, lambda state: change(state["steps"][0][1]))
    with pytest.raises(ModelFileError, match=sentence):
        load(path)


def test_another_release_of_scikit_learn_is_reported(table, is_fraud, path):
    save(mixed().fit(table, is_fraud), path)
    changed(path, lambda state: state.update({"scikit-learn": "1.2.0"}))
    with pytest.warns(UserWarning, match=r"fitted with scikit-learn 1\.2\.0 and is loaded with"):
        load(path)


def test_a_command_says_that_it_takes_a_ranker(table, is_fraud, path, tmp_path):
    save(mixed().fit(table, is_fraud), path)
    table.to_csv(tmp_path / "today.csv", index=False)
    said = one_sentence(run_main("rank", path, tmp_path / "today.csv"))
    assert "is a Pipeline of scikit-learn" in said and "toprank.load" in said


def test_the_manifest_is_readable(table, is_fraud, path):
    save(mixed().fit(table, is_fraud), path)
    with zipfile.ZipFile(path) as archive:
        state = json.loads(archive.read("manifest.json"))["state"]
    assert [name for name, _ in state["steps"]] == ["columntransformer"]
    assert state["ranker"][1]["learner"] == "RankRLS"
