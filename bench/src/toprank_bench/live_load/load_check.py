"""The load itself: it must send at twice the highest rate, on time, against a trivial server."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from toprank_bench.live_load.answer_times import quantiles
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.open_loop import (
    Due,
    OpenLoop,
    on_core,
    poisson_times,
    request_bytes,
)


def generator(setting: StageSetting) -> StageOutcome:
    """Measure how late requests are sent, and how long the load takes for what costs nothing."""
    rate, seconds = setting.options["rate"], setting.options["seconds"]
    body = encoded(setting.world.bodies(1)[0])
    request = request_bytes("POST", "/v1/payments", "tr_none", body)
    due = [Due(at, request) for at in poisson_times(rate, seconds, setting.seed)]
    with trivial_server() as address, on_core(setting.load_core):
        replies = OpenLoop(address, setting.options["connections"]).run(due)
    answered = [each for each in replies if each.status == 200]
    late = quantiles(1e3 * np.array([each.sent - each.due for each in answered]))
    whole = quantiles(1e3 * np.array([each.seconds for each in answered]))
    return StageOutcome(
        [
            LiveFigure("sent late: p50", late[0], "ms"),
            LiveFigure("sent late: p99", late[1], "ms", at_most=1),
            LiveFigure("answered: p99", whole[1], "ms", at_most=2),
            none_of("without an answer", len(replies) - len(answered), "requests"),
        ],
        {"rate": rate, "requests": len(replies)},
    )


@contextmanager
def trivial_server() -> Iterator[tuple[str, int]]:
    """Yield the address of a server that answers at once."""
    command = [sys.executable, "-m", "toprank_bench.live_load.trivial_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield "127.0.0.1", int(process.stdout.readline())
        finally:
            process.kill()
