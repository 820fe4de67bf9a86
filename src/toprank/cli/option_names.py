"""The library's arguments as options of the command line, in the one place that knows both.

The library names its arguments in backquotes, `drop=['note']`; to who typed a command, that is
--drop note. Whatever else is in backquotes stays as it is.
"""

import ast
import re
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

OPTIONS = {
    "label": "--label",
    "label_column": "--label",
    "positive_label": "--positive",
    "time": "--time",
    "time_format": "--time-format",
    "gap": "--gap",
    "drop": "--drop",
    "keep": "--keep",
    "encoding": "--encoding",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "budget": "-k",
    "card": "--card",
    "terminal": "--terminal",
    "amount": "--amount",
    "row_id": "--id",
    "delay": "--delay",
    "history": "--history",
    "learner": "--learner",
    "losses": "--losses",
    "loss": "--loss",
    "n_estimators": "--trees",
    "time_limit": "--minutes",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "silence": "--silence",
    "sql": "--sql",
    "database": "--database",
}

SEPARATORS = {" ": "space", "": "none"}
"""What is typed for separators of thousands that cannot be typed as they are."""

_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")


def as_typed(sentence: str) -> str:
    """Return a sentence of the library with options in place of arguments.

    >>> as_typed("name another column with `time`, or leave it out with `drop=['paid on']`.")
    "name another column with --time, or leave it out with --drop 'paid on'."
    """
    return _ARGUMENT.sub(_option, sentence)


def _option(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in OPTIONS:
        return found[0]
    if value is None:
        return OPTIONS[name]
    typed = [
        SEPARATORS.get(each, each) if name == "thousands" else each for each in _values(value)
    ]
    return " ".join(f"{OPTIONS[name]} {quote(str(each))}" for each in typed)


def _values(text: str) -> list[Any]:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = text
    return value if isinstance(value, list) else [value]


def is_default(option: str) -> bool:
    """Return whether the current command was called without an option."""
    context = click.get_current_context()
    return context.get_parameter_source(option) == ParameterSource.DEFAULT
