"""Airflow 3: the list of every day, and a refit every month.

Put this file into the folder of DAGs. `toprank` must be on the PATH of the workers, and FOLDER on
their disk; it has the model, its history, and an inbox as in daily.sh. Running a command again is
safe, so that tasks may be retried.
"""

import os
from datetime import timedelta

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.sdk import DAG

FOLDER = os.environ.get("TOPRANK_FOLDER", "/var/lib/toprank")
SINCE = pendulum.datetime(2025, 1, 1, tz="UTC")
YESTERDAY = "{{ macros.ds_add(ds, -1) }}"
COMMON = {
    "cwd": FOLDER,
    "env": {"TOPRANK_LOG": "json"},  # a line of JSON per event, in the log of the task
    "append_env": True,
}

# one run at a time: a history has one writer
with DAG(
    "toprank_daily",
    schedule="30 6 * * *",
    start_date=SINCE,
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
) as daily:
    labels = BashOperator(
        task_id="record_verdicts",
        bash_command="""
            mkdir -p done lists
            for file in inbox/verdicts-*.csv; do
                [ -e "$file" ] || continue
                toprank label payments.toprank "$file" && mv "$file" done/ || failed=1
            done
            exit ${failed:-0}
        """,
        **COMMON,
    )
    payments = BashSensor(
        task_id="wait_for_payments",
        bash_command=f"test -e {FOLDER}/inbox/payments-{YESTERDAY}.csv",
        poke_interval=300,
        timeout=6 * 60 * 60,
        mode="reschedule",
    )
    # a file of verdicts that matches no payment must not keep the list from being made
    alerts = BashOperator(
        task_id="rank",
        bash_command=f"""
            toprank rank payments.toprank inbox/payments-{YESTERDAY}.csv --remember \\
                -o lists/alerts-{YESTERDAY}.csv
        """,
        trigger_rule="all_done",
        **COMMON,
    )
    [labels, payments] >> alerts

with DAG(
    "toprank_refit", schedule="0 3 1 * *", start_date=SINCE, catchup=False, max_active_runs=1
) as monthly:
    # writes a new version and a comparison; --promote is for a person who has read it
    BashOperator(
        task_id="refit",
        bash_command="toprank refit payments.toprank > refit-{{ ds }}.txt",
        **COMMON,
    )
