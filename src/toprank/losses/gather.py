"""How a loss adds up over rows: block by block, over machines.

A ranking loss needs totals over the whole list. It works on blocks of rows small enough for the
processor's cache. Threads gain nothing where blocks are only read and added up, which is
memory-bound; where each row is looked up in a table, parts of the rows run in parallel. On a
cluster each machine holds some of the rows, and `Gather` also combines the machines' totals; the
losses themselves do not notice.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks

_ROWS_PER_BLOCK = 1 << 16


class Gather:
    """Runs work block by block and totals what it returns.

    `across` combines one float64 vector over machines: `across(vector, "sum" | "max")`. `rank`
    says which of the `n_machines` this one is, from 0 on; only `side_by_side` needs it.
    """

    def __init__(
        self,
        across: Callable[[NDArray[np.float64], str], NDArray[np.float64]] | None = None,
        n_threads: int = 1,
        *,
        rank: int = 0,
        n_machines: int = 1,
    ) -> None:
        self._across = across
        self._n_threads = n_threads
        self.n_machines = checks.whole_number(n_machines, "n_machines", 1)
        self.rank = checks.whole_number(rank, "rank", 0, n_machines - 1)

    def run(self, work: Callable[[slice], Any], n_rows: int) -> list[Any]:
        """Return what `work` returns for every block of rows, in order."""
        begins = range(0, n_rows, _ROWS_PER_BLOCK)
        return [work(slice(begin, min(begin + _ROWS_PER_BLOCK, n_rows))) for begin in begins]

    def run_parts(self, work: Callable[[slice], Any], parts: Sequence[slice]) -> list[Any]:
        """Return what `work` returns for each part, in order; threads share the parts.

        The caller chooses the parts, so that sums do not depend on the number of threads.
        """
        if self._n_threads == 1 or len(parts) == 1:
            return list(map(work, parts))
        with ThreadPoolExecutor(self._n_threads) as threads:
            return list(threads.map(work, parts))

    def sums(self, parts: list[Any], width: int) -> NDArray[np.float64]:
        """Return the totals of the blocks' `width` partial sums, over all machines."""
        return self._combine(np.array(parts, dtype=np.float64).reshape(-1, width).sum(0), "sum")

    def peaks(self, parts: list[Any], width: int) -> NDArray[np.float64]:
        """Return the largest of the blocks' values, column by column, over all machines."""
        blocks = np.array(parts, dtype=np.float64).reshape(-1, width)
        return self._combine(blocks.max(0, initial=-np.inf), "max")

    def side_by_side(self, own: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
        """Return every machine's columns in the order of their ranks, and where its own begin.

        >>> Gather().side_by_side(np.array([[1.0, 2.0], [3.0, 4.0]]))
        (0, array([[1., 2.],
               [3., 4.]]))
        """
        sizes = np.zeros(self.n_machines + 1)
        sizes[self.rank], sizes[-1] = own.shape[1], 1.0
        *sizes, n_found = self.sums([sizes], sizes.size).astype(int).tolist()
        if n_found != self.n_machines:
            raise ValueError(
                f"gather must be made with the rank of this machine and n_machines={n_found}; "
                f"got rank={self.rank} and n_machines={self.n_machines}."
            )
        if n_found == 1:
            return 0, own
        begin = sum(sizes[: self.rank])
        everything = np.zeros((len(own), sum(sizes)))
        everything[:, begin : begin + own.shape[1]] = own
        return begin, self.sums([everything], everything.size).reshape(everything.shape)

    def _combine(self, vector: NDArray[np.float64], how: str) -> NDArray[np.float64]:
        return vector if self._across is None else self._across(vector, how)


HERE = Gather()
"""This machine alone."""
