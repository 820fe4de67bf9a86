"""imbalanced-learn's samplers on encoded rows: categories as codes, gaps as NaN.

SMOTE needs three preparations. Neighbours are found among columns of equal spread, so that no
column dominates by its unit; since new rows are on lines between neighbours, scaling back gives
the same result. Gaps are filled with the column's median. Categories are taken from the neighbours
by majority (SMOTENC; SMOTEN if there are no numbers).
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import Schema

SAMPLERS = ("under", "over", "tomek", "smote", "easy-ensemble")
"""The samplers known by name; "easy-ensemble" is "under" many times."""

_EXTRA = "imbalanced-learn does the sampling; `pip install 'toprank[imbalance]'` installs it."


class Sampling(NamedTuple):
    """How rows are sampled: by which sampler, to how many positives per negative.

    `sampler` is one of `SAMPLERS` or any object with imbalanced-learn's `fit_resample`, which
    has its own ratio.
    """

    sampler: Any
    ratio: float
    k_neighbors: int
    seed: int


def import_imblearn() -> Any:
    """Return imbalanced-learn; raises ImportError with installation instructions."""
    try:
        import imblearn
    except ImportError:
        raise ImportError(_EXTRA) from None
    return imblearn


def check_sampler(sampler: Any) -> None:
    """Raise unless `sampler` is one of `SAMPLERS` or can `fit_resample`."""
    if isinstance(sampler, str):
        checks.one_of(sampler, "sampler", SAMPLERS)
    elif isinstance(sampler, type) or not hasattr(sampler, "fit_resample"):
        raise TypeError(
            f"sampler must be one of {', '.join(map(repr, SAMPLERS))} or have fit_resample, as "
            f"imbalanced-learn's samplers do; got {sampler!r}."
        )


def check_ratio(is_positive: NDArray[np.bool_], ratio: float) -> None:
    """Raise a ValueError unless sampling can reach `ratio` positives per negative."""
    own = natural_ratio(is_positive)
    if own > 1:
        raise ValueError(
            f"positives must be the rarer class for sampling; there are {own:.3g} of them per "
            "negative. Leave positive_label out, or name the other class."
        )
    if ratio < own:
        raise ValueError(
            f"ratio must be at least {own:.3g}, the positives per negative before sampling, "
            f"and at most 1; got {ratio:g}."
        )


def rarer_class(y: NDArray) -> Any:
    """Return the class with fewer rows; the last one in a tie.

    >>> rarer_class(np.array(["good", "good", "bad"])).item()
    'bad'
    """
    classes, counts = np.unique(y, return_counts=True)
    return classes[np.flatnonzero(counts == counts.min())[-1]]


def natural_ratio(is_positive: NDArray[np.bool_]) -> float:
    """Return the positives per negative.

    >>> natural_ratio(np.arange(11) < 1)
    0.1
    """
    n_positive = int(np.count_nonzero(is_positive))
    return n_positive / (is_positive.size - n_positive)


def resampled(
    features: NDArray[np.float32], is_positive: NDArray[np.bool_], schema: Schema, how: Sampling
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the sampled rows and which of them are positive.

    >>> features = np.arange(110, dtype=np.float32)[:, None]
    >>> how = Sampling("under", ratio=0.5, k_neighbors=5, seed=0)
    >>> _, is_positive = resampled(features, np.arange(110) < 10, Schema.of(features), how)
    >>> is_positive.size, int(is_positive.sum())
    (30, 10)
    """
    if isinstance(how.sampler, str) and how.sampler != "tomek":
        check_ratio(is_positive, how.ratio)
        if natural_ratio(is_positive) == how.ratio:
            return features, is_positive
    by_name = {
        "under": _fewer_negatives,
        "over": _more_positives,
        "tomek": _tomek,
        "smote": _smote,
    }
    sample = by_name[how.sampler] if isinstance(how.sampler, str) else _by_users_sampler
    features, labels = sample(features, is_positive, schema, how)
    is_positive = np.asarray(labels).astype(bool)
    for kind, n_left in (("positives", is_positive.sum()), ("negatives", (~is_positive).sum())):
        if not n_left:
            raise ValueError(
                f"sampler must leave both classes; it left no {kind}. Raise its sampling_strategy "
                "for them."
            )
    return np.ascontiguousarray(features, dtype=np.float32), is_positive


def _fewer_negatives(features, is_positive, schema, how):
    import_imblearn()
    from imblearn.under_sampling import RandomUnderSampler

    sampler = RandomUnderSampler(sampling_strategy=how.ratio, random_state=how.seed)
    return _by_row_number(sampler, features, is_positive)


def _more_positives(features, is_positive, schema, how):
    import_imblearn()
    from imblearn.over_sampling import RandomOverSampler

    sampler = RandomOverSampler(sampling_strategy=how.ratio, random_state=how.seed)
    return _by_row_number(sampler, features, is_positive)


def _by_row_number(sampler, features, is_positive):
    """Return sampled rows; the sampler sees only their indices, so gaps do not matter."""
    numbers, labels = sampler.fit_resample(
        np.arange(is_positive.size)[:, None], is_positive.astype(int)
    )
    return features[numbers[:, 0]], labels


def _by_users_sampler(features, is_positive, schema, how):
    return how.sampler.fit_resample(features, is_positive.astype(int))


def _tomek(features, is_positive, schema, how):
    import_imblearn()
    from imblearn.under_sampling import TomekLinks

    even = _Even.of(features, schema)
    # one-hot categories, scaled so that two rows that differ in one are 1 apart
    places = np.column_stack([even.numbers, *(0.5**0.5 * each for each in even.indicators())])
    sampler = TomekLinks(sampling_strategy="majority")
    sampler.fit_resample(places, is_positive.astype(int))
    return features[sampler.sample_indices_], is_positive[sampler.sample_indices_]


def _smote(features, is_positive, schema, how):
    import_imblearn()
    from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC

    n_positive = int(is_positive.sum())
    if how.k_neighbors >= n_positive:
        raise ValueError(
            f"k_neighbors must be below the number of positives, which is {n_positive}; got "
            f"{how.k_neighbors}. Lower it, or use the sampler 'over'."
        )
    options = {
        "sampling_strategy": how.ratio,
        "k_neighbors": how.k_neighbors,
        "random_state": how.seed,
    }
    even = _Even.of(features, schema)
    if not even.is_choice.any():
        sampler = SMOTE(**options)
    elif even.is_choice.all():
        sampler = SMOTEN(**options)
    else:
        sampler = SMOTENC(np.flatnonzero(even.is_choice).tolist(), **options)
    with warnings.catch_warnings():
        # SMOTENC warns of ties between categories, not knowing that they are codes
        warnings.simplefilter("ignore")
        rows, labels = sampler.fit_resample(even.matrix(), is_positive.astype(int))
    made = even.undone(rows[is_positive.size :])
    return np.concatenate([features, made]), labels


class _Even(NamedTuple):
    """Rows whose numbers have equal spread and no gaps; codes of categories, -1 if missing."""

    numbers: NDArray[np.float64]
    codes: NDArray[np.float64]
    is_choice: NDArray[np.bool_]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.float32], schema: Schema) -> "_Even":
        is_choice = np.array([column.kind != "number" for column in schema.columns])
        numbers = features[:, ~is_choice].astype(np.float64)
        has_values = ~np.isnan(numbers).all(axis=0)
        centre = np.zeros(numbers.shape[1])
        centre[has_values] = np.nanmedian(numbers[:, has_values], axis=0)
        numbers = np.where(np.isnan(numbers), centre, numbers)
        spread = numbers.std(axis=0) if len(numbers) else np.ones(numbers.shape[1])
        spread[~(spread > 0)] = 1.0
        codes = np.nan_to_num(features[:, is_choice].astype(np.float64), nan=-1.0)
        return cls((numbers - centre) / spread, codes, is_choice, centre, spread)

    def matrix(self) -> NDArray[np.float64]:
        """Return all columns in their own order."""
        both = np.empty((len(self.numbers), self.is_choice.size))
        both[:, ~self.is_choice], both[:, self.is_choice] = self.numbers, self.codes
        return both

    def undone(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return rows of `matrix` scaled back to encoded rows."""
        out = np.array(rows, dtype=np.float64)
        out[:, ~self.is_choice] = out[:, ~self.is_choice] * self.spread + self.centre
        codes = out[:, self.is_choice]
        out[:, self.is_choice] = np.where(codes < 0, np.nan, codes)
        return out.astype(np.float32)

    def indicators(self) -> list[NDArray[np.float64]]:
        """Return a one-hot matrix for each category column."""
        return [
            (column[:, None] == np.unique(column)).astype(np.float64) for column in self.codes.T
        ]
