"""Settings: a file, then the environment, then what is typed; what does not exist is an error."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.running import run_main
from toprank.cli import commands, every_command, settings_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def seen(monkeypatch):
    """The options that `toprank simulate` and `toprank fit` were called with."""
    called = {}
    for name in ("simulate", "fit", "rank"):
        monkeypatch.setattr(
            commands.commands[name],
            "callback",
            lambda _name=name, **options: called.update(options),
        )
    return called


def write(text, name="toprank.toml"):
    Path(name).write_text(text)


def test_the_table_of_a_command_comes_before_the_top_level(seen):
    write('seed = 3\ntime = "paid_at"\n[fit]\nlabel = "is_fraud"\nseed = 5\nid = "tx"\n')
    outcome = run_main("fit", "a.csv")

    assert outcome.exit_code == 0
    assert (seen["label"], seen["seed"], seen["time"], seen["row_id"]) == (
        "is_fraud", 5, "paid_at", "tx",
    )  # fmt: skip
    assert outcome.stderr == "Settings from toprank.toml: --label, --time, --id, --seed.\n"


def test_the_environment_comes_before_the_file_and_what_is_typed_before_both(seen, monkeypatch):
    write('[fit]\nlabel = "file"\nbudget = 1\nseed = 1\n')
    monkeypatch.setenv("TOPRANK_FIT_BUDGET", "2")
    monkeypatch.setenv("TOPRANK_FIT_SEED", "2")
    outcome = run_main("fit", "a.csv", "--seed", 3)

    assert (seen["label"], seen["budget"], seen["seed"]) == ("file", 2, 3)
    assert outcome.stderr.splitlines() == [
        "Settings from toprank.toml: --label.",
        "Settings from the environment: TOPRANK_FIT_BUDGET.",
    ]


def test_flags_and_lists_are_written_as_such(seen):
    write('[fit]\nlabel = "y"\nno-refit = true\nforce = false\ndrop = ["a b", "c"]\n')
    run_main("fit", "a.csv")

    assert (seen["no_refit"], seen["drop"]) == (True, ("a b", "c"))


def test_a_file_that_sets_nothing_for_the_command_is_not_named(seen):
    write('[fit]\nlabel = "y"\n')
    assert run_main("rank", "m", "d").stderr == ""


@pytest.mark.parametrize(
    "words",
    [["--settings", "other.toml", "fit", "a.csv"], ["fit", "a.csv", "--settings", "other.toml"]],
    ids=str,
)
def test_another_file_may_be_named_before_or_after_the_command(words, seen):
    write('label = "here"\n')
    write('label = "there"\n', "other.toml")
    outcome = run_main(*words)

    assert seen["label"] == "there"
    assert "Settings from other.toml: --label." in outcome.stderr


def test_the_environment_may_name_the_file(seen, monkeypatch):
    write('label = "here"\n')
    write('label = "there"\n', "other.toml")
    monkeypatch.setenv("TOPRANK_SETTINGS", "other.toml")
    run_main("fit", "a.csv")

    assert seen["label"] == "there"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[fit]\nlable = 'y'", "toprank.toml: [fit] has no option 'lable'; did you mean 'label'?"),
        ("lable = 'y'", "no command has an option 'lable'; did you mean 'label'?"),
        ("[fit]\nk = 3", "toprank.toml: [fit] k must be written as 'budget'."),
        ("[fit]\nrow_id = 'tx'", "has no option 'row_id'"),
        ("[fti]\nlabel = 'y'", "there is no command for [fti]; did you mean 'fit'?"),
        ("[desk]\nmodel = 'm'", "model must be in the table of a command, such as [desk."),
        ("[desk.inti]\nmodel = 'm'", "there is no command for [desk.inti]; did you mean 'init'?"),
        ("output = 'm'", "output must be in the table of one command"),
        ("force = true", "force must be in the table of one command"),
        ("[fit]\nno-refit = 'yes'", "no-refit must be true or false; got 'yes'."),
        ("[fit]\nlabel = true", "label must be a value, not true or false"),
        ("[fit]\nlabel = ['a', 'b']", "label must be one value; got ['a', 'b']."),
        ("[fit]\nbudget = 'many'", "It is set in toprank.toml."),
        ("[fit\n", "toprank.toml must be written in TOML"),
        ("log = 'loud'", "It is set in toprank.toml."),
    ],
)  # fmt: skip
def test_what_cannot_be_a_setting_is_a_wrong_call(text, sentence, seen):
    write(text)
    words = [] if "label" in text else ["--label", "y"]
    outcome = run_main("fit", "a.csv", *words)

    assert outcome.exit_code == 2
    assert sentence in outcome.stderr
    assert not seen


def test_a_value_of_the_environment_that_is_wrong_is_named(monkeypatch, seen):
    monkeypatch.setenv("TOPRANK_FIT_BUDGET", "many")
    outcome = run_main("fit", "a.csv", "--label", "y")

    assert outcome.exit_code == 2
    assert "It is the value of TOPRANK_FIT_BUDGET." in outcome.stderr


def test_a_variable_that_is_no_option_is_noted(monkeypatch, seen):
    monkeypatch.setenv("TOPRANK_FIT_LABLE", "y")
    outcome = run_main("fit", "a.csv", "--label", "y")

    assert outcome.exit_code == 0
    assert outcome.stderr == (
        "note: TOPRANK_FIT_LABLE is no option of toprank fit; did you mean 'TOPRANK_FIT_LABEL'?\n"
    )


def test_a_file_that_is_not_there_is_a_wrong_call():
    outcome = run_main("--settings", "no.toml", "rank", "m", "d")
    assert outcome.exit_code == 2
    assert "--settings no.toml: there is no such file." in outcome.stderr


def test_help_and_versions_need_no_right_file():
    write("[fit")
    assert run_main("fit", "--help").exit_code == run_main("--version").exit_code == 0


def test_the_form_of_the_log_may_be_a_setting(seen):
    write('log = "json"\n')
    assert (
        json.loads(run_main("fit", "a.csv", "--label", "y").stderr.splitlines()[-1])["event"]
        == "end"
    )
    assert run_main("--log", "text", "fit", "a.csv", "--label", "y").stderr == ""


def test_every_option_of_every_command_can_be_set():
    for name, command in settings_file.all_commands(commands):
        known = settings_file.long_options(command)
        for long, option in known.items():
            assert every_command.variables(option)[0] == every_command.variable(name, long)
        hidden = {option.name for option in command.params if getattr(option, "hidden", False)}
        assert {"settings", "log"} <= hidden, name


def test_a_variable_that_several_commands_share_is_read_after_the_own_one(monkeypatch):
    database = settings_file.long_options(commands.commands["rank"])["database"]
    monkeypatch.setenv("TOPRANK_DATABASE", "sqlite:///shared.db")
    assert every_command.set_variable(database) == "TOPRANK_DATABASE"
    monkeypatch.setenv("TOPRANK_RANK_DATABASE", "sqlite:///own.db")
    assert every_command.set_variable(database) == "TOPRANK_RANK_DATABASE"


def test_the_example_of_the_docs_can_be_used():
    file = settings_file.read(ROOT / "docs" / "examples" / "toprank.toml", commands)

    assert set(file.by_command) == {"fit", "rank", "desk init"}
    fit = file.values("fit", settings_file.long_options(commands.commands["fit"]))
    assert fit["label"] == "is_fraud" and fit["drop"] == ["internal note", "branch"]


# toprank settings


def test_settings_are_shown_with_where_they_come_from(monkeypatch):
    write('label = "y"\n[rank]\nbudget = 5\n')
    monkeypatch.setenv("TOPRANK_FIT_TREES", "7")
    lines = [line.split(maxsplit=3) for line in run_main("settings").stdout.splitlines()]

    assert ["fit", "--label", "y", "toprank.toml, top level"] in lines
    assert ["fit", "--trees", "7", "TOPRANK_FIT_TREES"] in lines
    assert ["rank", "--budget", "5", "toprank.toml, [rank]"] in lines
    assert not any("default" in line[-1] for line in lines)


def test_all_options_of_one_command_are_shown():
    document = json.loads(run_main("settings", "desk", "init", "--json").stdout)

    assert document["file"] is None
    assert {each["command"] for each in document["settings"]} == {"desk init"}
    assert {each["source"] for each in document["settings"]} == {"default"}


def test_nothing_set_says_how_something_would_be():
    assert run_main("settings").stdout == (
        "Nothing is set: no toprank.toml in this folder, and no variable such as "
        "TOPRANK_FIT_LABEL.\n"
    )


def test_settings_of_what_is_no_command_are_a_wrong_call():
    outcome = run_main("settings", "fot")
    assert outcome.exit_code == 2
    assert "there is no command 'fot'; did you mean 'fit'?" in outcome.stderr


def test_passwords_are_not_shown(monkeypatch):
    monkeypatch.setenv("TOPRANK_FIT_CLUSTER", "tls://me:hunter2@scheduler:8786")
    shown = CliRunner().invoke(commands, ["settings"]).output
    assert "tls://me:***@scheduler:8786" in shown
