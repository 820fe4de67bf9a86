"""Dagster: the list of every day as a partitioned asset, with its rows and alerts as metadata.

Load it with `dagster dev -f dagster_jobs.py`. `toprank` must be on the PATH, and FOLDER has the
model, its history, and an inbox as in daily.sh.
"""

import json
import os
import subprocess
from pathlib import Path

import dagster as dg

FOLDER = Path(os.environ.get("TOPRANK_FOLDER", "/var/lib/toprank"))
DAYS = dg.DailyPartitionsDefinition(start_date="2025-01-01")


def toprank(context: dg.AssetExecutionContext, *words: str | Path) -> dict:
    """Run a command; return the last event of its log, which says what it did."""
    command = ["toprank", *map(str, words), "--log", "json"]
    done = subprocess.run(command, cwd=FOLDER, stderr=subprocess.PIPE, text=True, check=False)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    for event in events:
        write = getattr(context.log, event["level"], context.log.info)
        write(event.get("message", event["event"]))
    if done.returncode:
        raise dg.Failure(f"toprank {words[0]} ended with exit code {done.returncode}")
    return events[-1]


# one pool of one place: a history has one writer
@dg.asset(partitions_def=DAYS, pool="toprank_history")
def alerts(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """The cards to check of one day, after the verdicts of the days before."""
    (FOLDER / "done").mkdir(exist_ok=True)
    (FOLDER / "lists").mkdir(exist_ok=True)
    for verdicts in sorted(FOLDER.glob("inbox/verdicts-*.csv")):
        toprank(context, "label", "payments.toprank", verdicts)
        verdicts.rename(FOLDER / "done" / verdicts.name)
    day = context.partition_key
    end = toprank(
        context, "rank", "payments.toprank", f"inbox/payments-{day}.csv", "--remember",
        "-o", f"lists/alerts-{day}.csv",
    )  # fmt: skip
    shown = {name: end[name] for name in ("rows", "listed", "seconds")}
    return dg.MaterializeResult(metadata=shown)


daily = dg.define_asset_job("toprank_daily", selection=[alerts])
schedule = dg.build_schedule_from_partitioned_job(daily, hour_of_day=6, minute_of_hour=30)
defs = dg.Definitions(assets=[alerts], jobs=[daily], schedules=[schedule])
