"""A split: the rows of train, validation and test, and what each of them must contain."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks

_WAY_OUT = "bring more labelled rows."
_WAY_OUT_IN_TIME = (
    "bring data of a longer period, choose a shorter `gap`, or leave out `time` to split the rows "
    "at random."
)


@dataclass(frozen=True, eq=False)
class Split:
    """The row numbers of each part, ascending; `gap` holds the rows that no part may use.

    `periods` gives the first and the last moment of each part when the split was made by time.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    gap: NDArray[np.int64]
    periods: dict[str, tuple[np.datetime64, np.datetime64]] | None = None

    def parts(self) -> dict[str, NDArray[np.int64]]:
        """Return the rows of train, validation and test under their names."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


def check_positives(split: Split, is_positive: ArrayLike) -> None:
    """Raise a ValueError unless every part of `split` has both classes.

    >>> from toprank.splits import stratified
    >>> check_positives(stratified([0, 1] * 10), [0, 1] * 10)
    """
    labels = checks.positives(is_positive, "is_positive")
    n_rows = 1 + max(int(rows.max(initial=-1)) for rows in split.parts().values())
    if labels.size < n_rows:
        raise ValueError(
            f"the labels must have a value for each of the {n_rows} rows; got {labels.size}."
        )
    for part, rows in split.parts().items():
        n_positive = np.count_nonzero(labels[rows])
        if n_positive in (0, rows.size):
            raise ValueError(
                f"the {part} rows must have both classes; got {n_positive:,} positives in "
                f"{rows.size:,} rows; {_WAY_OUT if split.periods is None else _WAY_OUT_IN_TIME}"
            )


def check_shares(validation: float, test: float) -> None:
    """Raise a ValueError unless the shares of validation and test leave rows to train on."""
    checks.number_above(validation, "validation", 0, 1)
    checks.number_above(test, "test", 0, 1)
    if validation + test >= 1:
        raise ValueError(
            f"validation and test must leave rows to train on, so their sum must be below 1; "
            f"got {validation:g} + {test:g}."
        )
