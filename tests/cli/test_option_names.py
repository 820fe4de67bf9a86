"""Arguments of the library are options on the command line, and all of them exist."""

import pytest

from toprank.cli import commands
from toprank.cli.option_names import OPTIONS, as_typed


@pytest.mark.parametrize(
    ("sentence", "typed"),
    [
        ("`positive_label` must be one of", "--positive must be one of"),
        ("leave it out with `drop=['a b', 'c']`.", "leave it out with --drop 'a b' --drop c."),
        ("use `time_format='%d/%m/%Y'`", "use --time-format %d/%m/%Y"),
        ("use `thousands=' '`", "use --thousands space"),
        ("pass `X.toarray()`", "pass `X.toarray()`"),
        ("an `unknown_argument`", "an `unknown_argument`"),
    ],
)
def test_arguments_in_backquotes_become_options(sentence, typed):
    assert as_typed(sentence) == typed


def test_every_option_exists():
    typed = {
        name
        for command in commands.commands.values()
        for parameter in command.params
        for name in parameter.opts
    }
    assert set(OPTIONS.values()) <= typed
