"""The Airflow example: always parsed, and run by Airflow where it is installed beside us.

Airflow pins so much that it has an environment of its own: `make test-schedulers`.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from toprank.cli import commands

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "airflow_dags.py"
PYTHON = ROOT / ".venv-airflow" / "bin" / "python"

RUN = """
import json, sys
import pendulum
sys.path.insert(0, sys.argv[1])
import airflow_dags as example
dags = example.daily, example.monthly
made = {dag.dag_id: [list(dag.task_dict), str(dag.schedule)] for dag in dags}
for task in example.daily.tasks:
    task.retries = 0  # the test would wait for them
run = example.daily.test(logical_date=pendulum.parse(sys.argv[2]))
states = {each.task_id: str(each.state) for each in run.get_task_instances()}
print("RESULT", json.dumps({"made": made, "state": str(run.state), "tasks": states}))
"""


def test_the_commands_of_the_example_exist():
    tree = ast.parse(EXAMPLE.read_text())
    texts = [each.value for each in ast.walk(tree)
             if isinstance(each, ast.Constant) and isinstance(each.value, str)]  # fmt: skip
    lines = [line for text in texts for line in re.findall(r"^\s*toprank .+", text, re.MULTILINE)]
    used = set()
    for line in lines:
        _, name, *words = shlex.split(line.replace("\\", ""))
        command = commands.get_command(click.Context(commands), name)
        known = {flag for option in command.params for flag in option.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
        used.add(name)
    assert used == {"label", "rank", "refit"}


@pytest.mark.slow
def test_airflow_runs_the_daily_list(daily_folder, tmp_path_factory):
    if not PYTHON.exists():
        pytest.skip("Airflow is not installed beside this environment; make test-schedulers does.")
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
    shutil.copy(EXAMPLE, home / "dags")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }

    def run_there(*words):
        run = subprocess.run(
            [PYTHON, *words],
            env=environment, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        return run

    run_there("-m", "airflow", "db", "migrate")
    run_there("-m", "airflow", "dags", "reserialize")
    first, second = daily_folder.days
    run = run_there("-c", RUN, str(home / "dags"), f"{second}T06:30:00+00:00")
    shown = re.search(r"^RESULT (.*)$", run.stdout, re.MULTILINE)
    assert shown, run.stdout[-3000:]
    result = json.loads(shown[1])

    assert result["made"]["toprank_refit"] == [["refit"], "0 3 1 * *"]
    assert result["made"]["toprank_daily"][1] == "30 6 * * *"
    assert result["state"] == "success"
    assert result["tasks"] == dict.fromkeys(
        ("record_verdicts", "wait_for_payments", "rank"), "success"
    )
    assert daily_folder.read(f"lists/alerts-{first}.csv").num_rows == 5
