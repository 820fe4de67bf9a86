"""The Dagster example runs with Dagster: two days in order, the first one's verdicts between."""

import importlib.util
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest

ROOT = Path(__file__).parents[2]


def load_example():
    """Return the module of the example, which reads its folder from the environment."""
    spec = importlib.util.spec_from_file_location(
        "dagster_jobs", ROOT / "docs" / "examples" / "dagster_jobs.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schedule_is_that_of_every_day():
    schedule = load_example().defs.resolve_schedule_def("toprank_daily_schedule")
    assert schedule.cron_schedule == "30 6 * * *"
    assert schedule.job_name == "toprank_daily"


@pytest.mark.slow
def test_two_days_are_ranked_with_the_verdicts_between_them(daily_folder):
    import dagster

    jobs = load_example()
    first, second = daily_folder.days

    def ranked(day):
        with dagster.DagsterInstance.ephemeral() as instance:
            result = dagster.materialize([jobs.alerts], partition_key=day, instance=instance)
            (event,) = result.asset_materializations_for_node("alerts")
            return {name: each.value for name, each in event.metadata.items()}

    facts = ranked(first)
    alerts = daily_folder.read(f"lists/alerts-{first}.csv")
    assert facts["listed"] == alerts.num_rows == 5
    assert facts["rows"] == daily_folder.read(f"inbox/payments-{first}.csv").num_rows

    frauds = pc.if_else(pc.equal(alerts["rank"], 1), "fraud", "genuine")
    verdicts = alerts.set_column(alerts.column_names.index("verdict"), "verdict", frauds)
    pacsv.write_csv(verdicts, daily_folder.path / "inbox" / f"verdicts-{first}.csv")
    ranked(second)

    found = alerts["card"][0].as_py()
    assert (daily_folder.path / "done" / f"verdicts-{first}.csv").exists()
    assert found not in daily_folder.read(f"lists/alerts-{second}.csv")["card"].to_pylist()


@pytest.mark.slow
def test_a_day_without_payments_fails_with_the_exit_code(daily_folder):
    import dagster

    jobs = load_example()
    with dagster.DagsterInstance.ephemeral() as instance:
        result = dagster.materialize(
            [jobs.alerts], partition_key="2025-04-20", instance=instance, raise_on_error=False
        )
    assert not result.success
    (failure,) = result.get_step_failure_events()
    assert "toprank rank ended with exit code 1" in str(failure.event_specific_data)
