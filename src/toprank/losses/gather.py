"""How a loss adds up over rows: block by block, over threads, over machines.

A ranking loss needs totals over the whole list. Kernels work on fixed blocks of rows and
their partial results are combined in block order, so a total does not depend on how many
threads ran. On a cluster each machine holds some of the rows, and `Gather` also combines
the machines' totals; the losses themselves do not know.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROWS_PER_BLOCK = 1 << 16


class Gather:
    """Runs block kernels and totals what they return.

    `across` combines one float64 vector over machines: `across(vector, "sum" | "max")`.
    """

    def __init__(
        self,
        n_threads: int = 1,
        across: Callable[[NDArray[np.float64], str], NDArray[np.float64]] | None = None,
    ) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._across = across

    def run(self, kernel: Callable[..., Any], n_rows: int, *arguments: Any) -> list[Any]:
        """Return `kernel(*arguments, begin, end)` of every block, in block order."""
        begins = range(0, n_rows, _ROWS_PER_BLOCK)

        def on_block(begin: int) -> Any:
            return kernel(*arguments, begin, min(begin + _ROWS_PER_BLOCK, n_rows))

        if self._pool is None or len(begins) == 1:
            return [on_block(begin) for begin in begins]
        return list(self._pool.map(on_block, begins))

    def sums(self, parts: list[tuple[float, ...]], width: int) -> NDArray[np.float64]:
        """Return the totals of the blocks' `width` partial sums, over all machines."""
        return self._combine(np.array(parts, dtype=np.float64).reshape(-1, width).sum(0), "sum")

    def peaks(self, parts: list[tuple[float, ...]], width: int) -> NDArray[np.float64]:
        """Return the largest of the blocks' values, column by column, over all machines."""
        blocks = np.array(parts, dtype=np.float64).reshape(-1, width)
        return self._combine(blocks.max(0, initial=-np.inf), "max")

    def _combine(self, vector: NDArray[np.float64], how: str) -> NDArray[np.float64]:
        return vector if self._across is None else self._across(vector, how)


HERE = Gather()
"""One thread on one machine."""
