"""Completion in a shell, tried in bash itself; scripts for the others are printed."""

import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from toprank.cli import commands

COMPLETE = """
eval "$(toprank completion bash)"
complete -p toprank
while read -r -a COMP_WORDS; do
    COMPREPLY=(); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _toprank_completion toprank
    echo "${COMPREPLY[@]}"
done
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_choices(tmp_path):
    script = tmp_path / "toprank"
    script.write_text(f"#!{sys.executable}\nfrom toprank.cli import main\nmain()\n")
    script.chmod(0o755)
    typed = "toprank ra\ntoprank fit payments.csv --lab\ntoprank fit p.csv --learner me\n"
    typed += "toprank history re\n"
    done = subprocess.run(
        ["bash", "-c", COMPLETE], input=typed, capture_output=True, text=True, check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip

    registered, *completed = done.stdout.splitlines()
    assert registered.endswith("_toprank_completion toprank")
    assert completed == ["rank", "--label", "metaap", "restore"]


@pytest.mark.parametrize(
    ("shell", "words"),
    [("zsh", "#compdef toprank"), ("fish", "complete --no-files --command toprank")],
)
def test_scripts_of_other_shells_are_printed(shell, words):
    outcome = CliRunner().invoke(commands, ["completion", shell])
    assert outcome.exit_code == 0
    assert words in outcome.output


def test_an_unknown_shell_is_refused():
    outcome = CliRunner().invoke(commands, ["completion", "csh"])
    assert outcome.exit_code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in outcome.output
