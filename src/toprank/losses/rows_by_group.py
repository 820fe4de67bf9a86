"""Rows in order of their groups, so that one pass sums or compares those of each group."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class RowsByGroup(NamedTuple):
    """The numbers of rows, group after group: `order = [group 0 | group 1 | ...]`.

    `begins` says where in `order` each group begins, `lengths` how many rows it has.
    """

    order: NDArray[np.intp]
    begins: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @classmethod
    def of(cls, groups: NDArray[np.int64], rows: NDArray[np.intp] | None = None) -> Self:
        """Return these rows, or all, by the number of their group.

        >>> RowsByGroup.of(np.array([1, 0, 1])).order.tolist()
        [1, 0, 2]
        """
        if rows is None:
            rows = np.arange(groups.size)
        return cls._of_runs(groups, rows[np.argsort(groups[rows], kind="stable")])

    def those(self, groups: NDArray[np.int64], counts: NDArray[np.bool_]) -> Self:
        """Return the rows that count; a group without one is left out."""
        return self._of_runs(groups, self.order[counts[self.order]])

    def highest(self, values: NDArray) -> NDArray:
        """Return the highest of each group's values, of which there is one per row.

        >>> RowsByGroup.of(np.array([1, 0, 1])).highest(np.array([3.0, 1.0, 4.0])).tolist()
        [1.0, 4.0]
        """
        return np.maximum.reduceat(values[self.order], self.begins)

    @classmethod
    def _of_runs(cls, groups: NDArray[np.int64], order: NDArray[np.intp]) -> Self:
        ordered = groups[order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: order.size])
        return cls(order, begins, np.diff(np.append(begins, order.size)))
