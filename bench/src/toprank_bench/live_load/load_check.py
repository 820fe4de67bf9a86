"""The load itself: it must send at twice the highest rate, on time, against a trivial server."""

import numpy as np

from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.trivial_replies import quantiles, trivial_replies


def generator(setting: StageSetting) -> StageOutcome:
    """Measure how late requests are sent, and how long the load takes for what costs nothing."""
    rate, seconds = setting.options["rate"], setting.options["seconds"]
    replies = trivial_replies(setting, rate, seconds)
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
