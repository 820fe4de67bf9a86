"""Which recipes are worth trying on rows of some size, most promising first.

With thousands of positives, large trees gain the most and everything else little. With few,
a forest and a smooth model gain the most, and large trees only learn the rows by heart.
"""

from dataclasses import replace

from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.judge import Judge
from toprank.rankers.auto.kernel_member import KernelModel
from toprank.rankers.auto.smooth_member import SmoothModel

_MANY_POSITIVES = 2_000
_SOME_POSITIVES = 300
_ROWS_FOR_BINS = 10_000  # with fewer, 256 quantiles are fine enough anywhere
_POSITIVES_FOR_LOSSES = 50  # with fewer, the top of the list is mostly luck
_ROWS_PER_LEAF = 20.0
_SHARE = 0.7


def has_many_positives(judge: Judge) -> bool:
    """Return whether there are enough positives for large trees to come first."""
    return _n_positive(judge) >= _MANY_POSITIVES


def has_some_positives(judge: Judge) -> bool:
    """Return whether there are enough positives for boosted trees to come first."""
    return _n_positive(judge) >= _SOME_POSITIVES


def forests(judge: Judge, n_trees: int) -> list[RandomisedForest]:
    """Return forests whose trees choose among few or among many columns at each cut.

    Few columns make trees that differ more, many make each of them better; which is worth more
    depends on how many columns matter.
    """
    if has_many_positives(judge):
        return [RandomisedForest(n_trees, rows_per_leaf=2)]
    half, n_columns = max(n_trees // 2, 1), len(judge.columns)
    narrow, wide = RandomisedForest(half), RandomisedForest(half, share_of_columns=0.5)
    # of up to five columns, the root and the half are equally many
    return [narrow, wide] if int(n_columns**0.5) < n_columns // 2 else [narrow]


def smooth_models(judge: Judge) -> list[SmoothModel | KernelModel]:
    """Return the models without steps that can be fitted to so many rows and columns."""
    models: list[SmoothModel | KernelModel] = [SmoothModel(1)]
    models += [SmoothModel(2)] if SmoothModel(2).can_fit(judge.columns) else []
    n_rows, n_columns = judge.rows.is_positive.size, len(judge.columns)
    return models + ([KernelModel()] if KernelModel().can_fit(n_rows, n_columns) else [])


def tree_sizes(judge: Judge) -> list[BoostedTrees]:
    """Return log-loss trees of several sizes, which draw rows and columns."""
    plain = BoostedTrees(random_share=_SHARE)
    small = replace(plain, least_weight=least_weight(judge))
    leaves = [replace(small, max_leaves=63), replace(small, max_leaves=255)]
    if has_many_positives(judge):
        shapes = [*leaves, replace(small, max_depth=8), replace(small, max_depth=6), plain]
    elif has_some_positives(judge):
        shapes = [replace(small, max_depth=6), plain, replace(plain, max_depth=2), leaves[0]]
    else:
        shapes = [plain, replace(plain, max_depth=2), replace(small, max_depth=6)]
    return list(dict.fromkeys(shapes))


def tree_stages(judge: Judge, n_trees: int) -> list[int]:
    """Return the numbers of trees after which a booster is judged."""
    few = judge.is_positive.sum() < _SOME_POSITIVES / 2
    shares = (1 / 3, 1) if few else (1 / 3, 2 / 3, 1, 3 / 2, 2)
    return sorted({max(round(share * n_trees), 1) for share in shares})


def least_weight(judge: Judge) -> float:
    """Return the least sum of p (1 - p) in a leaf when leaves may be small.

    Where positives are rare, so is p (1 - p): XGBoost's default of 1 asks a leaf for as many
    rows as have one positive among them, a thousand of them at one in a thousand, and no leaf
    can hold a few positives and little else. Here it is 20 rows of average suspicion.
    """
    share = float(judge.rows.is_positive.mean())
    return min(_ROWS_PER_LEAF * share * (1 - share), 1.0)


def tries_bins(judge: Judge) -> bool:
    """Return whether there are enough rows for the place of the bins to matter."""
    return judge.rows.is_positive.size >= _ROWS_FOR_BINS


def tries_losses(judge: Judge) -> bool:
    """Return whether there are enough positives to compare losses by."""
    return int(judge.is_positive.sum()) >= _POSITIVES_FOR_LOSSES


def _n_positive(judge: Judge) -> int:
    return int(judge.rows.is_positive.sum())
