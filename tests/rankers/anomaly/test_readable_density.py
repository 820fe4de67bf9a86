"""What an anomaly tree says of itself: rules with rows and volumes, paths, text and pictures."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankers.trees.made_payments import payments
from toprank import AnomalyTreeRank

DETECTORS = [
    AnomalyTreeRank(),
    AnomalyTreeRank(pruning="cv", max_bins=10),
    pytest.param(
        AnomalyTreeRank(global_depth=4, local_depth=2, min_samples_leaf=5), marks=pytest.mark.slow
    ),
]


@pytest.fixture(scope="module", params=DETECTORS, ids=str)
def fitted(request):
    return clone(request.param).fit(payments()[0])


def every_rule(fitted):
    return [(group.rank, rule) for group in fitted.rules() for rule in group.rules]


def test_rows_and_volumes_of_all_rules_add_up(fitted):
    tallies = [rule.tally for _, rule in every_rule(fitted)]
    assert sum(tally.n_rows for tally in tallies) == 400
    assert sum(tally.hits for tally in tallies) == approx(1)
    assert sum(tally.mass for tally in tallies) == approx(2)
    assert len(tallies) > len(fitted.groups_)


def test_rules_of_a_group_make_up_its_rows_and_its_volume(fitted):
    for described, group in zip(fitted.rules(), fitted.groups_, strict=True):
        assert (described.rank, described.n_groups) == (group.rank, len(fitted.groups_))
        assert (described.tally.n_rows, described.tally.hits) == approx(
            (group.n_rows, group.volume)
        )
        sums = np.sum([rule.tally for rule in described.rules], axis=0)
        assert sums == approx(np.array([group.n_rows, group.n_rows / 400 + group.volume,
                                        group.volume]))  # fmt: skip


def test_every_training_row_meets_one_rule_which_is_its_groups(fitted):
    frame, _ = payments()
    rules = every_rule(fitted)
    encoded = fitted.schema_.encode(frame)
    n_met = np.zeros(len(rules))
    for row, rank in zip(encoded, fitted.apply(frame), strict=True):
        met = [number for number, (_, rule) in enumerate(rules) if rule.holds(row)]
        assert [rules[number][0] for number in met] == [rank]
        n_met[met] += 1
    assert n_met.tolist() == [rule.tally.n_rows for _, rule in rules]


def test_a_rules_volume_is_the_share_of_even_points_that_meet_it():
    X = np.random.default_rng(0).normal(size=(300, 2))
    fitted = AnomalyTreeRank(global_depth=2, local_depth=2).fit(X)
    generator = np.random.default_rng(1)
    points = generator.uniform(fitted.box_.low, fitted.box_.high, (4000, 2))
    for _, rule in every_rule(fitted):
        share = np.mean([rule.holds(point) for point in points])
        sigma = np.sqrt(rule.tally.hits * (1 - rule.tally.hits) / 4000)
        assert abs(share - rule.tally.hits) < 4 * sigma


@pytest.mark.parametrize(
    "only_outside",
    [
        pytest.param(
            {"amount": 1e9, "noise": np.nan},
            id="gap",
        ),
        pytest.param(
            {"amount": 1e9, "country": "far away"},
            id="category",
        ),
        pytest.param({"amount": 1e9}, id="number"),
    ],
)
def test_what_only_rows_outside_have_takes_no_volume_from_a_rule(only_outside):
    frame, _ = payments()
    for name, value in only_outside.items():
        frame.loc[0, name] = value
    fitted = AnomalyTreeRank(bounds="robust").fit(frame)
    assert fitted.apply(frame)[0] == -1
    for described in fitted.rules():
        assert sum(rule.tally.hits for rule in described.rules) == approx(described.tally.hits)


def test_constant_columns_make_one_rule_that_every_row_meets():
    fitted = AnomalyTreeRank().fit(np.ones((30, 2)))
    ((rank, rule),) = every_rule(fitted)
    assert (rank, rule.tests, rule.tally) == (0, (), (30, 2.0, 1.0))
    assert fitted.rules()[0].text("space").splitlines() == [
        "group 1 of 1: 30 rows in 100 % of the space (1.0 x as dense)",
        "  every row: 30 rows in 100 % of the space",
    ]
    assert "group 1" in fitted.to_text()


def test_a_missing_value_has_a_tenth_of_its_column_in_a_rule():
    X = np.append(np.arange(100.0) % 10, [np.nan] * 3)[:, None]
    fitted = AnomalyTreeRank(global_depth=1, local_depth=1, min_samples_leaf=1).fit(X)
    (_, missing), (_, present) = every_rule(fitted)
    assert (missing.tests, missing.tally.n_rows) == (("x0 is missing",), 3)
    assert missing.tally.hits == approx(0.1)
    assert present.tally.hits == approx(0.9)


def test_a_rows_path_ends_in_the_group_it_is_applied_to(fitted):
    frame = payments(80, seed=9)[0]
    encoded, rank = fitted.schema_.encode(frame), fitted.apply(frame)
    paths = fitted.paths(frame)
    rules = every_rule(fitted)
    assert (rank >= 0).sum() > 60
    for row, at, path in zip(encoded, rank, paths, strict=True):
        assert path.rule.holds(row)
        assert path.n_groups == len(fitted.groups_)
        assert path.text("space").startswith(f"in group {path.rank + 1} of {path.n_groups} (")
        if at >= 0:
            assert path.rank == at
            assert path.tally.hits == approx(fitted.groups_[at].volume)
            (whole,) = [rule for _, rule in rules if rule.holds(row)]
            # rules are paths put together
            assert path.rule.tally.n_rows <= whole.tally.n_rows
            assert path.rule.tally.hits <= whole.tally.hits + 1e-9


def test_text_and_pictures_show_all_groups_and_columns(fitted):
    n_groups = len(fitted.groups_)
    columns = {fitted.schema_.names[column] for column in fitted._graph().columns}
    words = " ".join(ElementTree.fromstring(fitted.to_svg()).itertext())
    for text in (fitted.to_text(), fitted.to_dot(), words):
        named = {int(number) for number in re.findall(r"group (\d+)", text)}
        assert named == set(range(1, n_groups + 1))
        assert all(name in text for name in columns)
        assert "of the space" in text
    assert fitted.to_dot().startswith("digraph")


def test_names_and_titles_are_written_so_that_the_picture_is_valid():
    frame = payments(200)[0].rename(columns={"amount": 'a <b> & "c"'})
    fitted = AnomalyTreeRank().fit(frame)
    words = " ".join(ElementTree.fromstring(fitted.to_svg(title="<T> & t")).itertext())
    assert "<T> & t" in words
    assert 'a <b> & "c"' in words
    assert 'a <b> & \\"c\\"' in fitted.to_dot()


def test_the_emptiest_group_comes_first_with_its_density():
    hours = np.append(np.arange(100) % 12 + 1.0, 24.0)[:, None]
    emptiest, densest = AnomalyTreeRank(global_depth=1).fit(hours).rules()
    # from 0.5 to 30, half a gap beyond 24; 12 and what is above it are emptier than on average
    assert (emptiest.tally.n_rows, densest.tally.n_rows) == (9, 92)
    assert emptiest.tally.hits == approx((30 - 11.5) / 29.5)
    assert emptiest.text("space").splitlines() == [
        "group 1 of 2: 9 rows in 63 % of the space (0.1 x as dense)",
        "  x0 > 11: 9 rows in 63 % of the space",
    ]


def test_a_tree_of_too_many_cuts_to_read_keeps_no_counts_but_can_be_printed():
    X = np.random.default_rng(0).normal(size=(500, 2))
    fitted = AnomalyTreeRank(global_depth=6, min_samples_leaf=1).fit(X)
    assert fitted.seen_ is None
    assert all(rule.tally is None for _, rule in every_rule(fitted))
    assert [path.rank for path in fitted.paths(X[:20])] == fitted.apply(X[:20]).tolist()
    assert "group 1" in fitted.to_text()


def test_a_tree_that_is_not_fitted_cannot_be_described():
    tree = AnomalyTreeRank()
    for describe in (tree.rules, tree.to_text, tree.to_dot, tree.to_svg, lambda: tree.groups_):
        with pytest.raises(NotFittedError):
            describe()
    for describe in (tree.paths, tree.apply, tree.mass_volume, tree.contributions):
        with pytest.raises(NotFittedError):
            describe([[1.0]])
