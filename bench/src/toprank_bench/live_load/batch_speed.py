"""A night's file: payments in requests of a thousand, one request after the other."""

import time

from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.open_loop import on_core
from toprank_bench.live_load.senders import BatchSender, wait_until_scored


def batches(setting: StageSetting) -> StageOutcome:
    """Measure payments per second in batches, until answered and until scored."""
    size, n_batches = setting.options["size"], setting.options["batches"]
    bodies = setting.world.bodies((n_batches + 1) * size)
    first, *texts = [
        encoded({"payments": bodies[start : start + size]})
        for start in range(0, len(bodies), size)
    ]
    key, seconds = setting.world.key, []
    with setting.served(setting.new_desk()) as server, on_core(setting.load_core):
        sender = BatchSender(server.address, key)
        sender.post_text(first)
        wait_until_scored(server, key)
        begin = time.perf_counter()
        for text in texts:
            start = time.perf_counter()
            sender.post_text(text)
            seconds.append(time.perf_counter() - start)
        answered = time.perf_counter() - begin
        wait_until_scored(server, key)
        scored = time.perf_counter() - begin
        facts = {"busy": sender.n_busy, "server_megabytes": round(server.resident_megabytes(), 1)}
    return StageOutcome(
        [
            LiveFigure("answered", n_batches * size / answered, "payments/s"),
            LiveFigure("answered and scored", n_batches * size / scored, "payments/s", None, 5000),
            LiveFigure("longest batch", max(seconds), "s"),
        ],
        facts,
    )
