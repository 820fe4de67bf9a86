"""Online learners of experiments: scored before labels are known, made by id, each in its way."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from examples import examples
from toprank_bench.learners.online_rivals import ONLINE_LEARNERS, make_online_learner
from toprank_bench.learners.vowpal_bbm import VowpalBBM, _moments_so_far

PACKAGES = {
    "river-logistic": "river",
    "river-hoeffding-tree": "river",
    "vowpal-bbm": "vowpalwabbit",
}
RATES = {"vowpal-bbm": 0.5, "river-logistic": 0.1}


def stream(n_rows=150, seed=0, unit=1.0):
    """Rows of a table with two numbers, gaps in one of them, and a telling category."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n_rows, 2))
    kind = generator.choice(["a", "b"], n_rows)
    is_positive = x[:, 0] + 2 * (kind == "a") + 0.3 * generator.normal(size=n_rows) > 1
    gaps = generator.random(n_rows) < 0.1
    table = pa.table(
        {
            "telling": unit * x[:, 0] + 50 * (unit - 1),
            "noise": pa.array(x[:, 1], mask=gaps),
            "kind": pa.array(kind).dictionary_encode(),
        }
    )
    return table, is_positive


def learner_of(name, **parameters):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    if name in RATES:
        parameters.setdefault("learning_rate", RATES[name])
    return make_online_learner(name, 3, parameters)


@pytest.mark.parametrize("name", ONLINE_LEARNERS)
def test_a_row_is_scored_before_its_label_is_known(name):
    features, is_positive = stream()
    other = is_positive.copy()
    other[100:] ^= True
    scores = learner_of(name).score_then_learn(features, is_positive)
    of_other = learner_of(name).score_then_learn(features, other)

    assert scores.shape == (150,)
    np.testing.assert_array_equal(scores[:101], of_other[:101])
    if name != "river-hoeffding-tree":  # its leaves may stay as they are for a while
        assert (scores[101:] != of_other[101:]).any()


@pytest.mark.parametrize("name", ONLINE_LEARNERS)
def test_scores_above_0_say_positive_and_scoring_teaches_nothing(name):
    features, is_positive = stream(600)
    later, is_later = stream(200, seed=1)
    learner = learner_of(name)
    learner.score_then_learn(features, is_positive)
    scores = learner.suspicion(later)

    always_one_class = min(is_later.mean(), 1 - is_later.mean())
    assert np.mean((scores > 0) != is_later) < 0.7 * always_one_class
    np.testing.assert_array_equal(learner.suspicion(later), scores)


@pytest.mark.parametrize("name", PACKAGES)
def test_rivals_take_a_matrix_as_they_take_a_table_of_the_same_numbers(name):
    features, is_positive = stream()
    numbers = features.select(["telling", "noise"]).rename_columns(["x0", "x1"])
    matrix = np.column_stack([column.to_numpy() for column in numbers.columns])
    of_table = learner_of(name).score_then_learn(numbers, is_positive)
    of_matrix = learner_of(name).score_then_learn(matrix, is_positive)
    np.testing.assert_array_equal(of_table, of_matrix)


def test_votes_of_vowpal_wabbit_do_not_depend_on_the_unit_of_a_column():
    pytest.importorskip("vowpalwabbit")
    features, is_positive = stream()
    in_cents, _ = stream(unit=100.0)
    votes = VowpalBBM(1).score_then_learn(features, is_positive)
    np.testing.assert_allclose(
        VowpalBBM(1).score_then_learn(in_cents, is_positive), votes, atol=1e-3
    )


def test_what_no_row_before_had_does_not_stop_vowpal_wabbit():
    pytest.importorskip("vowpalwabbit")
    learned = pa.table({"x": [1.0, 1.0, 1.0], "gap": [None, 2.0, None], "kind": ["a", "b", "a"]})
    asked = pa.table({"x": [7.0], "gap": [1.0], "kind": ["z"]})
    learner = VowpalBBM(1)
    learner.score_then_learn(learned, np.array([True, False, True]))
    assert np.isfinite(learner.suspicion(asked)).all()


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 3)),
        elements=st.one_of(st.just(np.nan), st.integers(-50, 50).map(lambda value: value + 1e4)),
    )
)
@examples(60)
def test_moments_so_far_are_those_of_the_rows_up_to_each(values):
    means, spreads = _moments_so_far(values)
    for row in range(len(values)):
        for column in range(values.shape[1]):
            so_far = values[: row + 1, column]
            so_far = so_far[~np.isnan(so_far)]
            if so_far.size:
                assert means[row, column] == pytest.approx(so_far.mean())
                assert spreads[row, column] == pytest.approx(so_far.std(), abs=1e-5)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_is_missing_is_named_with_the_way_to_install_it(name, monkeypatch):
    module = "toprank.river" if name.startswith("river") else "vowpalwabbit"
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"learner '{name}' needs a package.*pip install"):
        make_online_learner(name, 0, {})


def test_a_parameter_that_is_not_one_gets_a_sentence():
    with pytest.raises(ValueError, match=r"learner 'bbm' cannot be made: .*edges"):
        make_online_learner("bbm", 0, {"edges": 0.1})
