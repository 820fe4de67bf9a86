"""`toprank bench speed`: races run, resume and are shown."""

import json
from pathlib import Path

import pytest

from cli.running import names_here, one_sentence, run_main
from toprank_bench.speed import families
from toprank_bench.speed.race import Measured, Race


@pytest.fixture
def races(monkeypatch):
    """Two families of races that are over at once."""
    doubled = {"rows": [1000, 2000], "our_seconds": [1.0, 2.0], "their_seconds": [1.0]}

    def race(name, facts, **limit):
        return Race(
            name, "ours", "theirs", "times as long", lambda _: Measured([2.0], facts),
            {"rows": 100}, {"rows": 10}, (0.1, 0.1), **limit,
        )  # fmt: skip

    made = {
        "limits": (race("kept", {}, at_most=2), race("broken", {}, at_most=1)),
        "sizes": (race("doubled", doubled),),
    }
    monkeypatch.setattr(families, "FAMILIES", made)


def test_races_are_run_one_by_one_and_shown_with_their_verdicts(races):
    outcome = run_main("bench", "speed", "--only", "kept")
    assert outcome.exit_code == 0 and outcome.stdout == ""
    assert "kept: 2 times as long as theirs (at most 2: met); 1 of 1 done" in outcome.stderr
    assert outcome.stderr.endswith("bench-results/speed.jsonl.xz has 1 of 1 races, 1 new.\n")

    again = run_main("bench", "speed")
    assert "holds 1 of 3 races already; resume with --resume" in one_sentence(again)
    resumed = run_main("bench", "speed", "--resume")
    assert resumed.stderr.endswith("has 3 of 3 races, 2 new.\n")

    once_more = run_main("bench", "speed", "--again", "--only", "kept")
    assert once_more.stderr.endswith("has 1 of 1 races, 1 new.\n")
    shown = run_main("bench", "speed", "--show")
    assert shown.exit_code == 0 and shown.stderr == ""
    assert shown.stdout.startswith("Speed: 1 of 2 limits met, 1 missed\n")
    facts = json.loads(run_main("bench", "speed", "--show", "--json").stdout)
    assert {each["race"]: each["verdict"] for each in facts} == {
        "kept": "met", "broken": "missed", "doubled": None,
    }  # fmt: skip


def test_the_picture_goes_to_a_file(races):
    run_main("bench", "speed", "--quick")
    outcome = run_main("bench", "speed", "--quick", "--show", "--plot", "x.svg")

    assert outcome.exit_code == 0 and outcome.stderr == "Wrote x.svg\n"
    assert "therefore rough" in outcome.stdout
    assert Path("x.svg").read_text().startswith("<?xml")


def test_a_race_that_fails_is_reported_and_the_exit_code_says_so(races, monkeypatch):
    def fail(_):
        raise ValueError("no memory for that.")

    race = Race("bad", "ours", "theirs", "times", fail, {"rows": 2}, {"rows": 1}, (1, 1))
    monkeypatch.setattr(families, "FAMILIES", {"bad ones": (race,)})
    outcome = run_main("bench", "speed")

    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1] == (
        "toprank: 1 of 1 races failed and are tried again with --resume; the first, bad: no "
        "memory for that."
    )


def test_wrong_calls_are_refused_before_anything_is_written(races):
    assert "did you mean 'kept'" in one_sentence(run_main("bench", "speed", "--only", "kep"))
    assert "no race is recorded" in one_sentence(run_main("bench", "speed", "--show"))
    alone = run_main("bench", "speed", "--plot", "x.svg")
    assert alone.exit_code == 2 and "--json and --plot must come with --show" in alone.stderr
    ending = run_main("bench", "speed", "--show", "--plot", "x.doc")
    assert ending.exit_code == 2 and "--plot must end in one of .svg" in ending.stderr
    both = run_main("bench", "speed", "--resume", "--again")
    assert both.exit_code == 2 and "--resume" in both.stderr
    assert names_here() == []
