"""Rows of a folder to learn from: all positives where they fit, and a sample of the others."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import tables
from toprank.payments.feature_folder.feature_folder import FeatureFolder
from toprank.rankers.progress import Progress, silent

_LARGEST_SHARE = 0.5  # of the sample: more positives than that are sampled, too


class RowSample(NamedTuple):
    """Rows, the number of rows that each represents, and whether each is one of a plain sample.

    The typical rows are spread as all rows are: they would have been drawn without their label.
    """

    table: pa.Table
    weight: NDArray[np.float64]
    is_typical: NDArray[np.bool_]


class Chances(NamedTuple):
    """The chance of a positive row, and of any other, to be in the sample."""

    positive: float
    other: float


def chances_of(folder: FeatureFolder, most_rows: int) -> Chances:
    """Return the chances by which a sample has about so many rows.

    >>> from pathlib import Path
    >>> from toprank.payments.feature_folder import FolderSettings
    >>> from toprank.payments.feature_folder.feature_folder import FolderDay
    >>> from toprank.payments.roles import Roles
    >>> settings = FolderSettings(Roles("at", "card", "shop", "amount"), "is_fraud")
    >>> days = (FolderDay(np.datetime64("2018-04-01"), 10_100, 100, 0),)
    >>> chances_of(FeatureFolder(Path("features"), settings, (1, 0), (), days), 1_100)
    Chances(positive=1.0, other=0.1)
    """
    n_positive = sum(each.n_positives for each in folder.days)
    n_other = sum(each.n_rows - each.n_positives - each.n_unlabelled for each in folder.days)
    positive = min(1.0, _LARGEST_SHARE * most_rows / max(n_positive, 1))
    if n_positive + n_other <= most_rows:
        return Chances(1.0, 1.0)
    other = (most_rows - positive * n_positive) / max(n_other, 1)
    return Chances(positive, min(1.0, other))


def sampled_rows(
    folder: FeatureFolder, most_rows: int, seed: int, progress: Progress | None = None
) -> RowSample:
    """Return about `most_rows` labelled rows of a folder, in order of time.

    Each day is drawn from with a seed of its own: a folder with one more day gives nearly the same
    sample, and no more than a day is in memory beside it.
    """
    report, chances = progress or silent, chances_of(folder, most_rows)
    parts: list[pa.Table] = []
    weights, typical = [], []
    for number, each in enumerate(folder.days):
        report("reading a sample of the rows", number, len(folder.days))
        random = np.random.default_rng([seed, int(each.day.astype(int))])
        for batch in folder.batches([each.day]):
            labels = tables.truths(batch, folder.settings.label, *folder.classes)
            is_positive = labels.fill_null(False).to_numpy(zero_copy_only=False)
            chance = np.where(is_positive, chances.positive, chances.other)
            draw = random.random(chance.size)
            is_drawn = (draw < chance) & labels.is_valid().to_numpy(zero_copy_only=False)
            parts.append(batch.filter(pa.array(is_drawn)))
            weights.append(1 / chance[is_drawn])
            typical.append(draw[is_drawn] < min(chances))
    report("reading a sample of the rows", len(folder.days), len(folder.days))
    return RowSample(pa.concat_tables(parts), np.concatenate(weights), np.concatenate(typical))
