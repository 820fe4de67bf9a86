"""Kinds of rows, learners and tools in combination: each works, or names the way out.

The rows of all kinds hold the same values, so that what works must give the very scores that plain
rows give. Everything else must be refused with the sentence in `REFUSED`.
"""

import warnings
from functools import cache

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import toprank
from toprank import registry

N_ROWS = 160
NAMES = ("x0", "x1", "x2")  # as columns of arrays are called: online learners draw by name


def plain_rows():
    """Numbers that float32 holds exactly, many of them zero, and labels that follow from them."""
    random = np.random.default_rng(0)
    rows = np.round(64 * random.normal(size=(N_ROWS, 3))) / 64
    rows[random.random(rows.shape) < 0.3] = 0
    return rows, (rows[:, 0] + rows[:, 1] > 1).astype(int)


ROWS, LABELS = plain_rows()
COLUMNS = {name: ROWS[:, j] for j, name in enumerate(NAMES)}
FRAME = pd.DataFrame(COLUMNS)

# Each kind: the rows, and labels as people have them next to such rows.
KINDS = {
    "array": lambda: (ROWS, LABELS),
    "float32 by columns": lambda: (np.asfortranarray(ROWS, np.float32), LABELS),
    "read-only array": lambda: (as_read_only(ROWS), LABELS),
    "array of objects": lambda: (ROWS.astype(object), LABELS.astype(bool)),
    "lists": lambda: (ROWS.tolist(), LABELS.tolist()),
    "masked array": lambda: (np.ma.masked_array(ROWS), LABELS),
    "np.matrix": lambda: (as_matrix(ROWS), LABELS),
    "pandas": lambda: (FRAME, pd.Series(LABELS)),
    "pandas nullable": lambda: (FRAME.astype("Float64"), pd.Series(LABELS, dtype="Int64")),
    "pandas nullable, bool": lambda: (FRAME.convert_dtypes(), pd.Series(LABELS, dtype="boolean")),
    "pandas on Arrow": lambda: (
        FRAME.astype("double[pyarrow]"), pd.Series(LABELS, dtype="int64[pyarrow]"),
    ),
    "pandas, bool on Arrow": lambda: (
        FRAME.astype("double[pyarrow]"), pd.Series(LABELS == 1, dtype="bool[pyarrow]"),
    ),
    "pandas sparse": lambda: (FRAME.astype(pd.SparseDtype("float", 0.0)), LABELS),
    "polars": lambda: (pl.DataFrame(COLUMNS), pl.Series(LABELS)),
    "polars LazyFrame": lambda: (pl.LazyFrame(COLUMNS), pl.Series(LABELS)),
    "pyarrow table": lambda: (pa.table(COLUMNS), pa.chunked_array([LABELS])),
    "pyarrow batch": lambda: (pa.record_batch(COLUMNS), pa.array(LABELS)),
    "csr": lambda: (sp.csr_array(ROWS), LABELS),
    "csc": lambda: (sp.csc_matrix(ROWS), LABELS),
    "coo": lambda: (sp.coo_array(ROWS), LABELS),
    "array API": lambda: (array_api_strict.asarray(ROWS), LABELS),
}  # fmt: skip
SPARSE = ("csr", "csc", "coo")

# Of learners that read rows in the same way, one meets all kinds of them and the others these.
FIRST_OF_A_FAMILY = ("BoostedRanker", "AnomalyTreeRank", "OnlineLinearBoost", "ThresholdedRanker")
KINDS_FOR_OTHERS = ("pandas nullable", "polars LazyFrame", "pyarrow batch", "csr", "array API")
SMALL = {
    "AutoRanker": {"n_estimators": 1, "time_limit": 1e-9},
    "BoostedRanker": {"n_estimators": 3},
    "RankSVM": {"max_iter": 5},
    "SampledRanker": {"ranker": toprank.BoostedRanker(n_estimators=2)},
    "ThresholdedRanker": {"ranker": toprank.BoostedRanker(n_estimators=2), "cv": 2},
}


def made(name):
    """A small learner of this name, not fitted."""
    row = registry.row_named(name)
    return row.load()(**(SMALL.get(name) or dict(row.shortest or {})))


def as_read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def as_matrix(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(rows)


# Tools: each gives scores of the rows it learned from.


def fitted(learner, X, y):
    return learner.fit(X, y).suspicion(X)


def by_file(learner, X, y, folder):
    toprank.save(learner.fit(X, y), folder / "model.toprank")
    return toprank.load(folder / "model.toprank").suspicion(X)


def by_pipeline(learner, X, y):
    return make_pipeline(StandardScaler(), learner).fit(X, y).decision_function(X)


def by_pandas_pipeline(learner, X, y):
    model = make_pipeline(StandardScaler(), learner).set_output(transform="pandas")
    return model.fit(X, y).decision_function(X)


def by_polars_pipeline(learner, X, y):
    model = make_pipeline(StandardScaler(), learner).set_output(transform="polars")
    return model.fit(X, y).decision_function(X)


def by_sparse_encoder(learner, X, y):
    encoder = ColumnTransformer(
        [("c", OneHotEncoder(), [2])], remainder="passthrough", sparse_threshold=1.0
    )
    return make_pipeline(encoder, learner).fit(X, y).decision_function(X)


def by_grid_search(learner, X, y):
    name, value = next(iter(learner.get_params(deep=False).items()))
    search = GridSearchCV(learner, {name: [value]}, cv=2, error_score="raise")
    return search.fit(X, y).decision_function(X)


def by_cross_validation(learner, X, y):
    cross_val_score(learner, X, y, cv=2, error_score="raise")
    return cross_val_predict(learner, X, y, cv=2, method="predict_proba")[:, 1]


def by_calibration(learner, X, y):
    return CalibratedClassifierCV(learner, cv=2).fit(X, y).predict_proba(X)[:, 1]


def by_stacking(learner, X, y):
    model = StackingClassifier([("ours", learner)], LogisticRegression(), cv=2)
    return model.fit(X, y).predict_proba(X)[:, 1]


def by_voting(learner, X, y):
    both = [("ours", learner), ("theirs", toprank.RankBoost(n_estimators=2))]
    return VotingClassifier(both, voting="soft").fit(X, y).predict_proba(X)[:, 1]


def by_threshold(learner, X, y):
    return toprank.ThresholdedRanker(learner, cv=2).fit(X, y).suspicion(X)


def by_undersampling(learner, X, y):
    from imblearn.pipeline import make_pipeline as make_sampling_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    model = make_sampling_pipeline(StandardScaler(), RandomUnderSampler(random_state=0), learner)
    return model.fit(X, y).decision_function(X)


def by_easy_ensemble(learner, X, y):
    from imblearn.ensemble import EasyEnsembleClassifier

    model = EasyEnsembleClassifier(2, learner, random_state=0)
    return model.fit(X, y).predict_proba(X)[:, 1]


def by_routed_weights(learner, X, y):
    weight = np.where(np.arange(N_ROWS) % 4 == 0, 2.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = learner.set_fit_request(sample_weight=True)
        learner = learner.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        search = GridSearchCV(make_pipeline(scaler, learner), {}, cv=2, error_score="raise")
        return search.fit(X, y, sample_weight=weight).decision_function(X)


def by_routed_times(learner, X, y):
    time = np.datetime64("2026-01-01") + np.arange(N_ROWS) * np.timedelta64(3, "h")
    with sklearn.config_context(enable_metadata_routing=True):
        auto = made("AutoRanker").set_fit_request(time=True)
        scaler = StandardScaler()
        search = GridSearchCV(make_pipeline(scaler, auto), {}, cv=2, error_score="raise")
        return search.fit(X, y, time=time).decision_function(X)


def by_reasons(learner, X, y):
    found = toprank.explain(learner.fit(X, y), X, n_reasons=1)
    return np.array([row[0].contribution if row else 0.0 for row in found])


def by_river_pipeline(learner, X, y):
    from river import compose, preprocessing

    from toprank.river import RiverClassifier

    model = compose.Pipeline(preprocessing.StandardScaler(), RiverClassifier(learner))
    rows = [dict(zip(NAMES, row, strict=True)) for row in np.asarray(X).tolist()]
    for row, label in zip(rows, np.asarray(y).tolist(), strict=True):
        model.learn_one(row, label)
    return np.array([model.predict_proba_one(row)[1] for row in rows])


TOOLS = {
    tool.__name__.removeprefix("by_").replace("_", " "): tool
    for tool in (
        by_pipeline, by_pandas_pipeline, by_polars_pipeline, by_sparse_encoder, by_grid_search,
        by_cross_validation, by_calibration, by_stacking, by_voting, by_threshold,
        by_undersampling, by_easy_ensemble, by_routed_weights, by_routed_times, by_reasons,
    )
}  # fmt: skip
KINDS_FOR_TOOLS = ("pandas nullable", "pandas on Arrow", "polars", "pyarrow table", "csr")
LEARNERS_FOR_TOOLS = ("RankBoost", "RankRLS", "SampledRanker")
ONE_LEARNER = ("sparse encoder", "routed weights", "routed times")  # that takes what they pass
SCALING = (
    "pipeline", "pandas pipeline", "polars pipeline", "undersampling", "routed weights",
    "routed times",
)  # fmt: skip
ONLINE = ("OnlineLinearBoost", "OnlineNonLinearBoost", "StreamBoost")


def combinations():
    """Every combination: kind, learner, tool."""
    for row in registry.LEARNERS:
        kinds = KINDS if row.name in FIRST_OF_A_FAMILY else KINDS_FOR_OTHERS
        yield from ((kind, row.name, "fit") for kind in kinds)
    for tool in TOOLS:
        yield from ((kind, "BoostedRanker", tool) for kind in ("array", *KINDS_FOR_TOOLS))
        if tool not in ONE_LEARNER:
            yield from (("array", name, tool) for name in LEARNERS_FOR_TOOLS)
    yield from (("polars LazyFrame", "BoostedRanker", tool) for tool in ("threshold", "reasons"))
    yield from (("array", name, "sparse encoder") for name in LEARNERS_FOR_TOOLS)
    yield from (("array", name, "river pipeline") for name in (*ONLINE, "BoostedRanker"))


def refusal(kind, name, tool):
    """The way out that a combination must be refused with; None if it must work."""
    takes_sparse = name in ("BoostedRanker", "ThresholdedRanker")
    if kind == "np.matrix":
        return r"pass np\.asarray\(X\)"
    if kind == "array API":
        return r"pass numpy\.from_dlpack\(X\)"
    if kind in SPARSE and tool in SCALING:
        return r"pass `with_mean=False` instead"  # scikit-learn's own sentence
    if kind in SPARSE and (not takes_sparse or tool in ("sparse encoder", "voting")):
        return r"\.toarray\(\)"
    if tool == "sparse encoder" and not takes_sparse:
        return r"OneHotEncoder\(sparse_output=False\)"
    if tool == "sparse encoder" and kind == "pyarrow table":
        return r"Available adapters are: \['pandas', 'polars'\]"  # scikit-learn's own
    if tool == "river pipeline" and name not in ONLINE:
        return "must be an online learner of toprank"
    return None


@pytest.mark.parametrize(("kind", "name", "tool"), list(combinations()))
@pytest.mark.filterwarnings("ignore")
def test_a_combination_works_like_plain_rows_or_is_refused_with_the_way_out(kind, name, tool):
    run = {"fit": fitted, "river pipeline": by_river_pipeline, **TOOLS}[tool]
    X, y = KINDS[kind]()
    words = refusal(kind, name, tool)
    if words is not None:
        with pytest.raises((TypeError, ValueError), match=words):
            run(made(name), X, y)
        return
    found = run(made(name), X, y)
    assert found.shape == (N_ROWS,)
    assert np.array_equal(found, expected(name, tool, kind in SPARSE))


@cache
def expected(name, tool, is_sparse):
    """What the tool gives with the same values in a plain array, or in plain CSR."""
    run = {"fit": fitted, "river pipeline": by_river_pipeline, **TOOLS}[tool]
    return run(made(name), sp.csr_matrix(ROWS) if is_sparse else ROWS, LABELS)
