"""Restarts: how long they take, and what is left after a server was killed under load."""

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.live.desk import Desk, stored_payments
from toprank.live.engine.live_desk import LiveDesk
from toprank_bench.live_load.desk_contents import DeskContents, n_different
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.open_loop import Due, OpenLoop, poisson_times, request_bytes
from toprank_bench.live_load.senders import BatchSender, wait_until_scored
from toprank_bench.live_load.served_process import ServedProcess

_BATCH = 1_000
_NEVER = 10**9  # payments after which a snapshot is written
_SCORED_AT_ONCE = 64


def start(setting: StageSetting) -> StageOutcome:
    """Measure the start of a server, without and with payments to read again."""
    n_tail, desk = setting.options["tail"], setting.new_desk(snapshot_every=_NEVER)
    key = setting.world.key
    with setting.served(desk) as server:
        empty = server.start_seconds
        sender = BatchSender(server.address, key)
        bodies = setting.world.bodies(n_tail)
        for begin in range(0, n_tail, _BATCH):
            sender.post(bodies[begin : begin + _BATCH])
        wait_until_scored(server, key)
        server.kill()
    with setting.served(desk) as server:
        with_tail = server.start_seconds
        megabytes = round(server.resident_megabytes(), 1)
    return StageOutcome(
        [
            LiveFigure("no payments after the snapshot", empty, "s"),
            LiveFigure(f"{n_tail:,} payments after the snapshot", with_tail, "s", at_most=60),
        ],
        {"server_megabytes": megabytes, "remembered": setting.world.n_before},
    )


def large_start(setting: StageSetting) -> StageOutcome:
    """Measure the start of a server that remembers millions of payments."""
    n_more, desk = setting.options["more"], setting.new_desk()
    module = "toprank_bench.live_load.large_history"
    given = [os.fspath(desk), os.fspath(setting.world.later_path), str(n_more)]
    subprocess.run([sys.executable, "-m", module, *given], check=True)
    with setting.served(desk) as server:
        seconds, megabytes = server.start_seconds, round(server.resident_megabytes(), 1)
    n_remembered = setting.world.n_before + n_more
    return StageOutcome(
        [LiveFigure(f"{n_remembered:,} remembered payments", seconds, "s", at_most=60)],
        {"server_megabytes": megabytes},
    )


def kills(setting: StageSetting) -> StageOutcome:
    """Kill a server again and again under load; count what was lost, doubled or differs."""
    draw, seconds = random.Random(setting.seed), []
    desk, key = setting.new_desk(), setting.world.key
    rate, longest, n_kills = (setting.options[name] for name in ("rate", "longest", "kills"))
    bodies = setting.world.bodies(n_kills * round(1.5 * rate * longest) + 100)
    pending, acknowledged, n_lost = bodies[::-1], set[str](), 0
    for number in range(n_kills):
        with setting.served(desk) as server:
            seconds.append(server.start_seconds)
            times = poisson_times(rate, longest, setting.seed + number)
            sent = [pending.pop() for _ in times]
            statuses = _killed_meanwhile(server, key, times, sent, draw.uniform(0.2, longest))
        acknowledged |= {
            body["payment"] for body, status in zip(sent, statuses, strict=True) if status == 200
        }
        # what has no answer is sent again, as a client would
        pending += [body for body in sent[::-1] if body["payment"] not in acknowledged]
        n_lost += len(acknowledged - {row.id for row in DeskContents.of(desk).log})
    with setting.served(desk) as server:
        wait_until_scored(server, key)
        server.kill()
    found = DeskContents.of(desk)
    counts = Counter(row.id for row in found.log)
    unbroken = _unbroken_run(setting, desk, found)
    return StageOutcome(
        [
            LiveFigure("kills", n_kills),
            LiveFigure("acknowledged", len(acknowledged), "payments"),
            none_of("acknowledged and lost", n_lost, "payments"),
            none_of("doubled", sum(count > 1 for count in counts.values()), "payments"),
            none_of(
                "features or decisions unlike an unbroken run",
                n_different(found.timeless().log, unbroken.log), "payments",
            ),
            none_of(
                "scores unlike an unbroken run",
                n_different(found.timeless().scores, unbroken.scores), "payments",
            ),
        ],
        {
            "logged": len(found.log),
            "logged_without_answer": len(counts.keys() - acknowledged),
            "longest_start": round(max(seconds), 2),
        },
    )  # fmt: skip


def _killed_meanwhile(
    server: ServedProcess, key: str, times: NDArray[np.float64], bodies: list[Any], after: float
) -> list[int]:
    """Send payments, and kill the server after some seconds; return the status of each."""
    due = [
        Due(at, request_bytes("POST", "/v1/payments", key, encoded(body)))
        for at, body in zip(times, bodies, strict=True)
    ]
    killer = threading.Timer(after, server.process.kill)
    killer.start()
    replies = OpenLoop(server.address, patience=0.5).run(due)
    killer.join()
    return [each.status for each in replies]


def _unbroken_run(setting: StageSetting, desk: Path, found: DeskContents) -> DeskContents:
    """Return what a desk has that got the same payments one by one and was never stopped."""
    with Desk.open(desk) as opened:
        stored = stored_payments(opened.load_model(opened.snapshots.all()[0]))
    other = setting.new_desk("unbroken")
    with Desk.open(other) as opened:
        live = LiveDesk(opened)
        for row in found.log:
            live.decide([stored.read(row)])
            if live.n_unscored >= _SCORED_AT_ONCE:
                live.score_some(_SCORED_AT_ONCE)
        while live.n_unscored:
            live.score_some(_SCORED_AT_ONCE)
        live.close()
    return DeskContents.of(other).timeless()
