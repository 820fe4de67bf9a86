"""`toprank bench`: lists, runs, resumes and shows."""

import json
from pathlib import Path

import pytest

import toprank_bench
from cli.running import names_here, one_sentence, run_main
from small_experiment import TEXT, write_set


@pytest.fixture
def small():
    """The small experiment and its data in the folder the test runs in."""
    Path("sets").mkdir()
    for seed, name in enumerate(("first", "second")):
        write_set(Path("sets"), name, seed)
    Path("small.toml").write_text(TEXT)
    return "small.toml"


def test_list_names_every_experiment_with_its_cells():
    outcome = run_main("bench", "list")
    facts = json.loads(run_main("bench", "list", "--json").stdout)

    assert outcome.exit_code == 0, outcome.stderr
    assert [each["name"] for each in facts] == toprank_bench.names()
    for each in facts:
        assert each["recorded"] == 0 < each["cells"]
        assert each["quick"] < each["minutes"]
        assert each["name"] in outcome.stdout and each["title"] in outcome.stdout


def test_a_quick_run_is_shown_and_is_not_the_whole(small):
    outcome = run_main("bench", "run", small, "--quick", "--data", "sets")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout == ""
    assert "bench-results/small-quick.jsonl.xz has 2 of 2 rows, 2 of them new." in outcome.stderr

    shown = run_main("bench", "show", small, "--quick")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stderr == ""
    assert "Two small sets (quick)" in shown.stdout and "(0.5000 " in shown.stdout
    assert "nothing is recorded of small" in one_sentence(run_main("bench", "show", small))


def test_a_run_is_refused_where_rows_are_and_resumed_with_resume(small):
    run_main("bench", "run", small, "--quick", "--data", "sets")
    again = run_main("bench", "run", small, "--quick", "--data", "sets")
    assert "holds 2 of 2 rows already; resume with --resume" in one_sentence(again)
    resumed = run_main("bench", "run", small, "--quick", "--data", "sets", "--resume")
    assert resumed.exit_code == 0
    assert "2 of 2 rows, 0 of them new." in resumed.stderr


def test_a_missing_set_is_reported_with_the_sentence_of_datasets_and_the_others_run(small):
    Path("sets/second.parquet").unlink()
    outcome = run_main("bench", "run", small, "--data", "sets")
    assert outcome.exit_code == 0
    note, end = outcome.stderr.splitlines()
    assert note.startswith("note: data set 'second' was not found; looked in the folder sets")
    assert end.endswith("has 4 of 8 rows, 4 of them new.")


def test_where_nothing_can_be_run_the_exit_code_says_so(small):
    Path("empty").mkdir()
    outcome = run_main("bench", "run", small, "--quick", "--data", "empty")
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1] == "toprank: nothing of small-quick could be run."


def test_failed_cells_are_reported_and_the_exit_code_says_so(small):
    Path("small.toml").write_text(TEXT.replace("n_estimators = 5 }", "n_estimators = -5 }"))
    outcome = run_main("bench", "run", small, "--quick", "--data", "sets")
    assert outcome.exit_code == 1
    last = outcome.stderr.splitlines()[-1]
    assert last.startswith("toprank: 1 of 2 cells failed and are tried again with --resume; the ")
    assert "n_estimators" in last


def test_show_writes_what_the_ending_or_the_format_says(small):
    run_main("bench", "run", small, "--quick", "--data", "sets")
    beginnings = {
        "x.html": "<!DOCTYPE html>",
        "x.md": "# Two small sets",
        "x.svg": "<?xml",
        "x.txt": "Two small sets",
        "x.json": "{",
    }
    for name, beginning in beginnings.items():
        outcome = run_main("bench", "show", small, "--quick", "-o", name)
        assert outcome.exit_code == 0, outcome.stderr
        assert outcome.stderr == f"Wrote {name}\n"
        assert Path(name).read_text().startswith(beginning)
    markdown = run_main("bench", "show", small, "--quick", "--format", "markdown")
    assert markdown.stdout == Path("x.md").read_text()
    facts = json.loads(run_main("bench", "show", small, "--quick", "--format", "json").stdout)
    assert facts == json.loads(Path("x.json").read_text())
    assert "x.xls" not in names_here()


def test_wrong_calls_are_refused_before_anything_is_written(small):
    unknown = run_main("bench", "run", "sgbap-tabel3")
    assert "did you mean 'sgbap-table3'" in one_sentence(unknown)
    ending = run_main("bench", "show", small, "-o", "x.xls")
    assert ending.exit_code == 2 and "-o must end in one of .txt, .md" in ending.stderr
    assert names_here() == ["sets", "small.toml"]


def test_targets_are_printed_with_their_verdicts_and_as_plain_values():
    outcome = run_main("bench", "targets")
    assert outcome.exit_code == 0, outcome.stderr
    assert "not recorded" in outcome.stdout and "metaap-suite" in outcome.stdout
    facts = json.loads(run_main("bench", "targets", "--json").stdout)
    assert {each["verdict"] for each in facts} == {"not recorded"}


def test_pages_are_written_to_a_folder():
    outcome = run_main("bench", "pages", "there")
    assert outcome.exit_code == 0, outcome.stderr
    assert "Wrote 2 files to there" in outcome.stderr
    assert Path("there/index.md").read_text("utf-8").startswith("# Results")


def test_rows_are_printed_as_json_lines(small):
    run_main("bench", "run", small, "--quick", "--data", "sets")
    outcome = run_main("bench", "rows", "small-quick")
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [row["method"] for row in rows] == ["log", "forest"]
    assert "no rows of 'smal'" in one_sentence(run_main("bench", "rows", "smal"))


def test_pictures_without_rows_are_reported():
    outcome = run_main("bench", "pictures", "there", "--only", "ap-by-depth.png")
    assert outcome.exit_code == 1
    assert "ap-by-depth.png was not drawn" in outcome.stderr
    unknown = run_main("bench", "pictures", "there", "--only", "ap-by-dept.png")
    assert "ap-by-dept.png" in one_sentence(unknown)
