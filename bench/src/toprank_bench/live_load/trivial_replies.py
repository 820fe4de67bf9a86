"""What the load gets back from a trivial server: the floor under every other figure."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.open_loop import (
    Due,
    OpenLoop,
    Reply,
    on_core,
    poisson_times,
    request_bytes,
)


def trivial_replies(
    setting: StageSetting, rate: float, seconds: float, milliseconds: float = 0.0
) -> list[Reply]:
    """Return the replies of a server that computes for so long and does nothing else."""
    body = encoded(setting.world.bodies(1)[0])
    request = request_bytes("POST", "/v1/payments", "tr_none", body)
    due = [Due(at, request) for at in poisson_times(rate, seconds, setting.seed)]
    core = setting.server_core
    with trivial_server(milliseconds, core) as address, on_core(setting.load_core):
        return OpenLoop(address, setting.options["connections"]).run(due)


@contextmanager
def trivial_server(milliseconds: float, core: int | None = None) -> Iterator[tuple[str, int]]:
    """Yield the address of a server that answers after computing for so long."""
    command = [sys.executable, "-m", "toprank_bench.live_load.trivial_server", f"{milliseconds}"]
    with on_core(core):  # which it inherits
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            yield "127.0.0.1", int(process.stdout.readline())
        finally:
            process.kill()


def quantiles(values: NDArray[np.float64]) -> list[float]:
    """Return the median, the 99 % and the 99.9 % quantile and the largest; each one of the values.

    >>> quantiles(np.arange(1, 1001.0))
    [500.0, 990.0, 999.0, 1000.0]
    """
    found = np.quantile(values, [0.5, 0.99, 0.999, 1.0], method="inverted_cdf")
    return [float(each) for each in found]
