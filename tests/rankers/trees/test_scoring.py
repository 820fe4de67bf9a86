"""Suspicion: between 0 and 1, by group, and each row for itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.special import expit

from examples import examples
from rankers.trees.kernel.test_cuts import made_table
from rankers.trees.kernel.test_meta_tree import grown, ranks_of
from rankers.trees.kernel.test_walking import ROWS, hand_made_tree, trees_and_rows
from toprank.rankers.trees import scoring
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.scoring import SCORINGS, Scoring

pytestmark = pytest.mark.kernel

EVERY_WAY = pytest.mark.parametrize("way", SCORINGS)


@st.composite
def scorings(draw, way):
    return Scoring(
        way, draw(st.sampled_from([1e-6, 0.25, 100.0])), draw(st.sampled_from([0.5, 5.0]))
    )


def suspicion_of(tree, table, rows, ways):
    return scoring.scores(tree, rows, scoring.column_std(table.features, table.weight), ways)


@EVERY_WAY
@given(data=st.data(), drawn=trees_and_rows())
@examples(30)
def test_suspicion_is_finite(way, data, drawn):
    tree, table, rows = drawn
    assert np.isfinite(suspicion_of(tree, table, rows, data.draw(scorings(way)))).all()


@given(drawn=trees_and_rows())
@examples(30)
def test_groups_are_at_the_log_odds_of_their_shares_where_these_fall(drawn):
    tree, _, _ = drawn
    level, low, high = scoring.group_ranges(tree, 5.0)
    assert ((low < level) & (level < high)).all()
    assert low[:-1] == approx(high[1:])
    groups = np.flatnonzero(tree.unions.rank >= 0)
    groups = groups[np.argsort(tree.unions.rank[groups])]
    share = scoring.shrunk_shares(tree.unions, 5.0)[groups]
    share = np.maximum(share, 1 / (tree.unions.mass[groups] + 2))
    if (np.diff(scoring.log_odds(share)) < -0.01).all():
        assert level == approx(scoring.log_odds(share))


@given(drawn=trees_and_rows())
@examples(20)
def test_groups_are_put_in_the_order_of_their_shares(drawn):
    tree, _, rows = drawn
    moved = scoring.ordered(tree, Scoring("rank + soft"))
    groups = np.flatnonzero(moved.unions.rank >= 0)
    groups = groups[np.argsort(moved.unions.rank[groups])]
    assert (np.diff(scoring.shrunk_shares(moved.unions, 5.0)[groups]) <= 0).all()
    # the same rows are together as before
    pairs = set(zip(ranks_of(tree, rows).tolist(), ranks_of(moved, rows).tolist(), strict=True))
    assert len(pairs) == len({before for before, _ in pairs}) == len({now for _, now in pairs})
    assert scoring.ordered(tree, Scoring("rank")) is tree


@pytest.mark.parametrize("way", ["rank + soft", "rank + distance", "rank"])
@given(data=st.data(), drawn=trees_and_rows())
@examples(40)
def test_rows_of_a_group_come_before_all_of_the_next(way, data, drawn):
    tree, table, rows = drawn
    suspicion = suspicion_of(tree, table, rows, data.draw(scorings(way)))
    rank = ranks_of(tree, rows)
    order = np.argsort(-suspicion, kind="stable")
    assert (np.diff(rank[order]) >= 0).all()
    for group in np.unique(rank)[1:]:
        assert suspicion[rank == group].max() < suspicion[rank < group].min()


@EVERY_WAY
@given(data=st.data(), drawn=trees_and_rows())
@examples(30)
def test_a_row_is_scored_alike_alone_and_among_others(way, data, drawn):
    tree, table, rows = drawn
    ways = data.draw(scorings(way))
    together = suspicion_of(tree, table, rows, ways)
    alone = [suspicion_of(tree, table, row[None, :], ways)[0] for row in rows]
    assert together.tolist() == alone
    assert suspicion_of(tree, table, rows[::-1].copy(), ways).tolist() == alone[::-1]


def test_suspicion_in_a_tree_made_by_hand():
    tree, std = hand_made_tree(), np.array([2.0, 4.0])
    level, low, high = scoring.group_ranges(tree, 5.0)
    rank = [1, 2, 1, 0, 0, 0]
    middle = (low + high)[rank] / 2
    assert scoring.scores(tree, ROWS, std, Scoring("rank")) == approx(middle)
    by_distance = scoring.scores(tree, ROWS, std, Scoring("rank + distance"))
    within = expit(2 * np.array([0, -1, 0, 3, 0, 3]))
    assert by_distance == approx(low[rank] + (high - low)[rank] * within, abs=1e-7)
    soft = scoring.scores(tree, ROWS, std, Scoring("soft"))
    by_soft = scoring.scores(tree, ROWS, std, Scoring("rank + soft"))
    within = expit(soft - level[rank])
    assert by_soft == approx(low[rank] + (high - low)[rank] * within, abs=1e-7)


def test_softness_is_measured_in_the_spread_of_a_column():
    table = made_table(60, ["many", "many", "6"], seed=1)
    tree = grown(table, Growth("entropy", 3), 2)
    scale = np.array([8.0, 0.25, 1.0], dtype=np.float32)
    scaled = table._replace(features=table.features * scale)
    tree_of_scaled = grown(scaled, Growth("entropy", 3), 2)
    for way in ("soft", "rank + soft"):
        assert suspicion_of(tree, table, table.features, Scoring(way)) == approx(
            suspicion_of(tree_of_scaled, scaled, scaled.features, Scoring(way))
        )


def test_the_soft_path_distinguishes_rows_of_one_group():
    table = made_table(60, ["many", "many"], seed=1)
    tree = grown(table, Growth("entropy", 3), 2)
    rank = ranks_of(tree, table.features)
    n_values = [
        np.unique(suspicion_of(tree, table, table.features, Scoring(way))[rank == 0]).size
        for way in ("rank", "rank + soft")
    ]
    assert n_values[0] == 1 < n_values[1]


def test_the_spread_of_a_column_leaves_missing_values_out():
    features = np.array(
        [[1, np.nan, 4, np.nan], [3, np.nan, 4, 2], [5, np.nan, 4, 6]], dtype=np.float32
    )
    assert scoring.column_std(features, None) == approx([np.sqrt(8 / 3), 0, 0, 2])


def test_a_row_of_weight_w_spreads_like_w_rows():
    table = made_table(30, ["many", "few", "missing"], seed=1)
    times = np.random.default_rng(1).integers(1, 4, 30)
    repeated = scoring.column_std(np.repeat(table.features, times, axis=0), None)
    assert scoring.column_std(table.features, times.astype(float)) == approx(repeated)


def test_the_spread_of_large_values_close_to_one_another_is_exact():
    features = (2.0**20 + np.arange(4.0))[:, None].astype(np.float32)
    assert scoring.column_std(features, None) == approx([np.arange(4.0).std()])


@EVERY_WAY
@given(data=st.data(), drawn=trees_and_rows())
@examples(20)
def test_contributions_of_columns_add_up_to_the_suspicion(way, data, drawn):
    tree, table, rows = drawn
    ways, std = data.draw(scorings(way)), scoring.column_std(table.features, table.weight)
    parts = scoring.contributions(tree, rows, std, ways)
    assert parts.shape == (len(rows), rows.shape[1] + 1)
    assert parts.sum(axis=1) == approx(scoring.scores(tree, rows, std, ways))
    never_cut = np.setdiff1d(np.arange(rows.shape[1]), tree.nodes.column)
    assert (parts[:, never_cut] == 0).all()


@pytest.mark.parametrize("way", ["rank", "soft"])
def test_what_no_column_adds_is_the_same_for_all_rows(way):
    table = made_table(60, ["many", "few", "6"], seed=2)
    tree = grown(table, Growth("entropy", 3), 2)
    std = scoring.column_std(table.features, table.weight)
    parts = scoring.contributions(tree, table.features, std, Scoring(way))
    # but for parts of a row that are too small to follow
    assert np.ptp(parts[:, -1]) < 1e-3
