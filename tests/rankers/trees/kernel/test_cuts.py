"""The best cut of a node: as good as the best of all, tried one by one."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pytest import approx

import reference
from examples import examples
from toprank.rankers.trees.kernel.binning import bin_columns
from toprank.rankers.trees.kernel.cuts import CRITERIA, best_cuts
from toprank.rankers.trees.kernel.growing import NO_WEIGHT

pytestmark = pytest.mark.kernel

EVERY_CRITERION = pytest.mark.parametrize("criterion", CRITERIA)
KINDS = ("few", "many", "constant", "missing", "2", "6", "300")


class Table(NamedTuple):
    """Rows with everything the kernels ask of them; `weight` is None where all weigh the same."""

    features: NDArray[np.float32]
    n_categories: NDArray[np.int64]
    is_positive: NDArray[np.bool_]
    weight: NDArray[np.float64] | None

    @property
    def is_category(self):
        return self.n_categories > 0

    @property
    def masses(self):
        return np.ones(self.is_positive.size) if self.weight is None else self.weight

    def binned(self, max_bins=255):
        return bin_columns(self.features, self.n_categories, max_bins)

    def take(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return Table(self.features[rows], self.n_categories, self.is_positive[rows], weight)


def made_table(n_rows, kinds, seed, has_weight=False, missing=0.2, positives=0.4):
    """A table whose columns are of the kinds named; a number is that of a column's categories."""
    generator = np.random.default_rng(seed)
    columns = {
        "few": lambda: generator.integers(-2, 3, n_rows) / 2,
        "many": lambda: generator.normal(size=n_rows),
        "constant": lambda: np.full(n_rows, 7.0),
        "missing": lambda: np.full(n_rows, np.nan),
    }
    features = np.empty((n_rows, len(kinds)), dtype=np.float32)
    for j, kind in enumerate(kinds):
        is_number = kind in columns
        # most rows have one of the first categories, so that some are rare and some are not
        common = np.floor(int(kind) * generator.random(n_rows) ** 3) if not is_number else None
        features[:, j] = columns[kind]() if is_number else common
    features[generator.random(features.shape) < missing] = np.nan
    weight = generator.choice([0.5, 1.0, 2.0, 3.0], n_rows) if has_weight else None
    n_categories = np.array([0 if kind in columns else int(kind) for kind in kinds])
    return Table(features, n_categories, generator.random(n_rows) < positives, weight)


@st.composite
def tables(draw, max_rows=40, kinds=KINDS):
    """Small tables rich in ties, missing values and rare categories; weights are halves."""
    return made_table(
        draw(st.integers(1, max_rows)),
        draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4)),
        draw(st.integers(0, 10_000)),
        draw(st.booleans()),
        draw(st.sampled_from([0.0, 0.2, 0.6])),
        draw(st.sampled_from([0.1, 0.4, 0.8])),
    )


class Cut(NamedTuple):
    """One row of what `best_cuts` returns."""

    column: int
    is_left: NDArray[np.bool_]
    gain: float
    left_sums: NDArray[np.float64]
    carried: NDArray[np.float64]


def cuts_of(
    table, criterion, blocks=None, min_leaf=1, factor=1.0, carried=np.inf, n_tried=None, seed=1,
    max_bins=255,
):  # fmt: skip
    """The cut of every block of rows (all rows unless given), None where there is none."""
    blocks = [np.arange(table.is_positive.size)] if blocks is None else blocks
    binned = table.binned(max_bins)
    rows = np.concatenate(blocks).astype(np.int32)
    ends = np.cumsum([block.size for block in blocks])
    target, mass = table.is_positive[rows], table.masses[rows]
    totals = np.array(
        [[b.size, table.masses[b].sum(), table.masses[b] @ table.is_positive[b]] for b in blocks]
    )
    n = len(blocks)
    places, numbers, sides = best_cuts(
        binned.codes, binned.starts, binned.is_category, rows, target,
        NO_WEIGHT if table.weight is None else mass, np.append(0, ends[:-1]), ends, totals,
        np.full(n, factor), np.full(n, carried), np.full(n, seed, dtype=np.uint64),
        CRITERIA[criterion], n_tried or binned.n_columns, float(min_leaf * (min_leaf > 1)),
    )  # fmt: skip
    return [
        _cut(binned, block, *found)
        for block, *found in zip(blocks, places, numbers, sides, strict=True)
    ]


def _cut(binned, rows, place, numbers, sides):
    column, last_left, _, is_missing_left, missing = place
    if column < 0:
        return None
    codes = binned.codes[column, rows]
    if binned.is_category[column]:
        is_left = sides[codes] == 1
    else:
        is_left = np.where(codes == missing, is_missing_left == 1, codes <= last_left)
    return Cut(int(column), is_left, numbers[0], numbers[1:3], numbers[3:5])


@EVERY_CRITERION
@given(tables(), st.sampled_from([1, 2, 5]), st.sampled_from([1.0, 0.25, 5.0]))
@examples(40)
def test_no_cut_is_better_than_the_one_found(criterion, table, min_leaf, factor):
    target, weight = table.is_positive, table.masses
    best = reference.best_cut(
        table.features, table.is_category, target, weight, criterion, min_leaf, factor
    )
    found = cuts_of(table, criterion, min_leaf=min_leaf, factor=factor)[0]
    assert (found is None) == (best is None)
    if found is not None:
        everything = np.ones(target.size, dtype=bool)
        uncut = reference.cut_score(criterion, everything, target, weight, factor)
        score = reference.cut_score(criterion, found.is_left, target, weight, factor)
        assert score == approx(best[0], abs=1e-9)
        assert found.gain == approx(score - uncut, abs=1e-9)
        left = found.is_left
        assert min(weight[left].sum(), weight[~left].sum()) >= min_leaf * (min_leaf > 1)
        assert found.left_sums == approx([weight[left].sum(), weight[left] @ target[left]])


@EVERY_CRITERION
@given(tables(max_rows=30), st.integers(0, 1000))
@examples(20)
def test_nodes_cut_together_are_cut_as_if_alone(criterion, table, seed):
    generator = np.random.default_rng(seed)
    node = generator.integers(0, 3, table.is_positive.size)
    blocks = [np.flatnonzero(node == number) for number in np.unique(node)]
    together = cuts_of(table, criterion, blocks)
    for block, cut in zip(blocks, together, strict=True):
        alone = cuts_of(table, criterion, [block])[0]
        assert (cut is None) == (alone is None)
        if cut is not None:
            assert cut.column == alone.column
            assert cut.is_left.tolist() == alone.is_left.tolist()
            assert cut.gain == alone.gain


def test_gains_worked_out_by_hand():
    # 4 rows, the 2 positives above 2: both sides are pure
    table = Table(
        np.array([[1.0], [2.0], [3.0], [4.0]], dtype=np.float32),
        np.array([0]),
        np.array([False, False, True, True]),
        None,
    )
    gains = {criterion: cuts_of(table, criterion)[0].gain for criterion in CRITERIA}
    assert gains["gini"] == approx(4 - 2)
    assert gains["entropy"] == approx(4 * np.log(2))
    assert gains["error"] == approx(4 - 2)
    # AP of the right side first is 1, of the left side first 1/2; uncut it is 1/2
    assert gains["ap"] == approx(2 * 1 + 2 * 0.5 - 4 * 0.5)


@EVERY_CRITERION
@pytest.mark.parametrize("kind", ["constant", "missing"])
def test_nothing_can_be_cut_in_a_column_that_never_differs(criterion, kind):
    assert cuts_of(made_table(20, [kind], seed=0, missing=0.0), criterion) == [None]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "ap", "error"])
@pytest.mark.parametrize("positives", [0.0, 1.0])
def test_rows_of_one_class_are_not_cut(criterion, positives):
    table = made_table(20, ["many", "6"], seed=0, positives=positives)
    assert cuts_of(table, criterion) == [None]


@EVERY_CRITERION
def test_one_row_is_not_cut(criterion):
    assert cuts_of(made_table(1, ["many"], seed=0, missing=0.0), criterion) == [None]


@EVERY_CRITERION
def test_missing_values_alone_are_worth_a_cut(criterion):
    values = np.array([[7.0], [7.0], [np.nan], [np.nan]], dtype=np.float32)
    is_positive = np.array([False, False, True, True])
    cut = cuts_of(Table(values, np.array([0]), is_positive, None), criterion)[0]
    assert cut.is_left.tolist() == [True, True, False, False]


def test_missing_values_not_seen_in_the_node_go_with_most_of_its_mass():
    values = np.array([[1.0], [2.0], [3.0]], dtype=np.float32)
    is_positive = np.array([False, True, True])
    for weight, to_left in [([5.0, 1.0, 1.0], 1), ([1.0, 1.0, 1.0], 0)]:
        table = Table(values, np.array([0]), is_positive, np.array(weight))
        binned = table.binned()
        totals = np.array([[3, sum(weight), 2.0]])
        places, _, _ = best_cuts(
            binned.codes, binned.starts, binned.is_category, np.arange(3, dtype=np.int32),
            is_positive, np.array(weight), np.array([0]), np.array([3]), totals,
            np.ones(1), np.full(1, np.inf), np.ones(1, np.uint64), CRITERIA["gini"], 1, 1.0,
        )  # fmt: skip
        assert places[0].tolist() == [0, 0, 1, to_left, 3]


def test_categories_of_a_mass_below_five_stay_together_with_the_missing_ones():
    codes = [0] * 6 + [1] * 4 + [2] * 4 + [np.nan] * 2 + [3] * 5
    is_positive = np.array([False] * 6 + [True] * 4 + [False] * 4 + [True] * 2 + [True] * 5)
    values = np.array(codes, dtype=np.float32)[:, None]
    cut = cuts_of(Table(values, np.array([4]), is_positive, None), "gini")[0]
    assert np.unique(cut.is_left[6:16]).size == 1


@EVERY_CRITERION
@given(tables(max_rows=12, kinds=("many", "few")), st.sampled_from([1, 2]))
@examples(20)
def test_rows_sorted_and_rows_put_in_bins_give_the_same_cut(criterion, table, min_leaf):
    n = table.is_positive.size
    # other rows of the table give the column so many bins that few rows are sorted instead
    n_more = 8 * n + 40
    filler = np.repeat(np.linspace(9, 99, n_more), table.features.shape[1])
    more = Table(
        np.concatenate([table.features, filler.reshape(n_more, -1).astype(np.float32)]),
        table.n_categories,
        np.append(table.is_positive, np.zeros(n_more, bool)),
        None if table.weight is None else np.append(table.weight, np.ones(n_more)),
    )
    in_bins = cuts_of(table, criterion, min_leaf=min_leaf)[0]
    is_sorted = cuts_of(more, criterion, [np.arange(n)], min_leaf=min_leaf, max_bins=1000)[0]
    assert (in_bins is None) == (is_sorted is None)
    if in_bins is not None:
        assert is_sorted.is_left.tolist() == in_bins.is_left.tolist()
        assert is_sorted.gain == in_bins.gain


def test_ap_refuses_a_cut_that_ranks_worse_than_the_cut_above_promised():
    table = made_table(30, ["many"], seed=3)
    cut = cuts_of(table, "ap")[0]
    share, target = cut.is_left.mean(), table.is_positive.astype(float)
    left, right = (
        1 - reference.ap_of_first(side, target, table.masses)
        for side in (cut.is_left, ~cut.is_left)
    )
    reached = share * left + (1 - share) * right
    assert cut.carried == approx([left, right])
    assert cuts_of(table, "ap", carried=reached)[0] is not None
    assert cuts_of(table, "ap", carried=reached - 1e-9) == [None]
    assert cuts_of(table, "gini", carried=0.0)[0] is not None  # a rule of ap alone


@given(st.integers(1, 5), st.integers(0, 2**40))
@examples(30)
def test_only_as_many_columns_as_asked_for_are_tried(n_tried, seed):
    # column j separates j + 1 of the 6 positives from all other rows: the last is the best
    features = np.zeros((12, 5), dtype=np.float32)
    for j in range(5):
        features[: j + 1, j] = 1
    table = Table(features, np.zeros(5, dtype=int), np.arange(12) < 6, None)
    tried = {
        cuts_of(table, "gini", n_tried=n_tried, seed=(seed + i) % 2**64)[0].column
        for i in range(60)
    }
    assert min(tried) >= n_tried - 1  # the best of n columns is at least the n-th
    assert len(tried) > 1 or n_tried == 5


def test_columns_without_a_cut_do_not_use_up_the_columns_tried():
    table = made_table(20, ["constant", "constant", "missing", "many"], seed=0, missing=0.0)
    for seed in range(20):
        assert cuts_of(table, "gini", n_tried=1, seed=seed)[0].column == 3


def test_columns_are_drawn_alike_whatever_was_drawn_for_the_nodes_before():
    table = made_table(60, ["many"] * 6, seed=5)
    blocks = np.array_split(np.arange(60), 6)
    together = cuts_of(table, "gini", blocks, n_tried=2)
    alone = [cuts_of(table, "gini", [block], n_tried=2)[0] for block in blocks]
    assert [cut.column for cut in together] == [cut.column for cut in alone]


def test_every_column_is_drawn_about_as_often():
    features = np.tile(np.arange(8, dtype=np.float32)[:, None], (1, 5))
    table = Table(features, np.zeros(5, dtype=int), np.arange(8) < 4, None)
    seeds = np.random.default_rng(0).integers(0, 2**63, 300)
    drawn = [cuts_of(table, "gini", n_tried=1, seed=seed)[0].column for seed in seeds]
    assert np.bincount(drawn, minlength=5).min() > 30
