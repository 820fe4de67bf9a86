"""Rules, paths, text and pictures of a fitted tree: all show the same groups."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankers.trees.made_payments import numbers, payments
from toprank import GeometricTree, MetaAP, TreeRank

RANKERS = [
    MetaAP(),
    TreeRank(global_depth=4, pruning="cv"),
    GeometricTree(max_depth=4, min_samples_leaf=10),
    *(
        pytest.param(ranker, marks=pytest.mark.slow)
        for ranker in (
            MetaAP(global_depth=3, local_depth=2, criterion="ap", min_samples_leaf=1),
            TreeRank(),
        )
    ),
]


@pytest.fixture(scope="module", params=RANKERS, ids=str)
def fitted(request):
    return clone(request.param).fit(*payments())


@pytest.fixture(scope="module")
def new_rows():
    """Rows of another draw, some with values that no training row had."""
    frame = payments(80, seed=9)[0]
    frame.loc[:9, "country"] = "never seen before"
    frame.loc[5:14, "amount"] = np.nan
    frame.loc[20:24, "amount"] = [-1e9, 0.0, 1e9, 110.0, 1e-9]
    return frame


def test_a_rows_path_ends_in_the_group_it_is_applied_to(fitted, new_rows):
    group = fitted.apply(new_rows)
    paths = fitted.paths(new_rows)
    assert [path.rank for path in paths] == group.tolist()
    assert {path.n_groups for path in paths} == {len(fitted.rules())}
    encoded = fitted.schema_.encode(new_rows)
    assert all(path.rule.holds(row) for path, row in zip(paths, encoded, strict=True))
    for path in paths:
        assert path.text("frauds").startswith(f"in group {path.rank + 1} of {path.n_groups} (")


def test_every_row_meets_one_rule_which_is_its_groups(fitted, new_rows):
    rules = [(group.rank, rule) for group in fitted.rules() for rule in group.rules]
    encoded = fitted.schema_.encode(new_rows)
    for row, rank in zip(encoded, fitted.apply(new_rows), strict=True):
        assert [of for of, rule in rules if rule.holds(row)] == [rank]


def test_rules_count_the_training_rows_that_meet_them(fitted):
    frame, is_fraud = payments()
    encoded = fitted.schema_.encode(frame)
    group = fitted.apply(frame)
    for described in fitted.rules():
        is_in = group == described.rank
        assert described.tally == approx((is_in.sum(), is_in.sum(), is_fraud[is_in].sum()))
        for rule in described.rules:
            met = np.array([rule.holds(row) for row in encoded])
            assert rule.tally == approx((met.sum(), met.sum(), is_fraud[met].sum()))


def test_weights_are_counted_in_rules_and_groups():
    frame, is_fraud = payments()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(frame))
    ranker = MetaAP().fit(frame, is_fraud, sample_weight=weight)
    for described, group in zip(ranker.rules(), ranker.groups_, strict=True):
        assert described.rank == group.rank
        assert described.tally == approx((group.n_rows, group.mass, group.positives))
        assert described.tally.precision == approx(group.precision)
        sums = np.sum([rule.tally for rule in described.rules], axis=0)
        assert sums == approx(np.array(described.tally))


def test_text_and_pictures_show_all_groups_and_columns(fitted):
    n_groups = len(fitted.rules())
    columns = {fitted.schema_.names[column] for column in fitted._graph().columns}
    text, dot, svg = fitted.to_text("frauds"), fitted.to_dot("frauds"), fitted.to_svg("frauds")
    words = " ".join(ElementTree.fromstring(svg).itertext())
    for output in (text, dot, words):
        named = {int(number) for number in re.findall(r"group (\d+)", output)}
        assert named == set(range(1, n_groups + 1))
        assert all(name in output for name in columns)
        assert "frauds" in output
    assert columns <= set(fitted.schema_.names)


def test_the_title_and_the_noun_are_the_readers():
    X, y = numbers(100)
    ranker = MetaAP().fit(X, y)
    assert "A <b> & c" in " ".join(
        ElementTree.fromstring(ranker.to_svg("late <payers>", "A <b> & c")).itertext()
    )
    assert "late" in ranker.to_text("late payers")


def test_a_value_close_to_a_cut_is_close_to_the_group_on_its_other_side():
    hours = np.arange(24.0)[:, None]
    ranker = MetaAP().fit(hours, hours[:, 0] < 6)
    near, far = ranker.paths([[5.0], [0.0]])
    assert near.near.rank == 1
    assert near.text("frauds").endswith("; close to group 2 because x0 is just under 6")
    assert far.near is None


def test_a_tree_of_too_many_cuts_to_read_keeps_no_counts_but_can_be_printed():
    X, _ = numbers(700)
    tree = GeometricTree(max_depth=30).fit(X, np.random.default_rng(0).random(700) < 0.3)
    assert np.count_nonzero(tree.tree_.nodes.column >= 0) > 100
    assert tree.seen_ is None
    assert all(rule.tally is None for group in tree.rules() for rule in group.rules)
    assert [path.rank for path in tree.paths(X[:20])] == tree.apply(X[:20]).tolist()
    assert "group 1" in tree.to_text()


@pytest.mark.parametrize("ranker", [MetaAP(), TreeRank(), GeometricTree()], ids=str)
def test_a_tree_that_is_not_fitted_cannot_be_described(ranker):
    for describe in (ranker.rules, ranker.to_text, ranker.to_dot, ranker.to_svg):
        with pytest.raises(NotFittedError):
            describe()
    for describe in (ranker.paths, ranker.apply, ranker.contributions, ranker.suspicion):
        with pytest.raises(NotFittedError):
            describe([[1.0]])
