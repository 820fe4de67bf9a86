"""`toprank settings`: which options are set without being typed, and where each comes from."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from toprank.cli import every_command, log_lines, settings_file

EXAMPLES = """
\b
Examples:
  toprank settings
  toprank settings fit
  toprank settings desk init --json
"""
DEFAULT = "default"


class SetOption(NamedTuple):
    """One option of a command: its value, and where that comes from."""

    command: str
    option: str
    value: Any
    source: str


@click.command(epilog=EXAMPLES, short_help="Show which settings apply, and where they come from.")
@click.argument("command", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the settings as JSON.")
@click.pass_context
def settings(context: click.Context, command: tuple[str, ...], as_json: bool) -> None:
    """Show the options that toprank.toml and the environment set for each command.

    With COMMAND, such as `fit`, show all options of that command, those with their defaults as
    well. What is typed always comes first; then variables such as TOPRANK_FIT_LABEL, then the
    table of the command in the file, then the file's top level. Passwords are not shown.
    """
    from toprank.cli import screen
    from toprank.wording import aligned

    group = context.find_root().command
    assert isinstance(group, click.Group)
    file = every_command.file_of(context)
    chosen = _chosen(group, " ".join(command))
    found = [one for name, each in chosen for one in _options(name, each, file)]
    if not command:
        found = [one for one in found if one.source != DEFAULT]
    if as_json:
        path = None if file is None else str(file.path)
        screen.print_json({"file": path, "settings": [one._asdict() for one in found]})
        return
    path = f"no {settings_file.NAME} in this folder" if file is None else str(file.path)
    if not found:
        screen.show(f"Nothing is set: {path}, and no variable such as TOPRANK_FIT_LABEL.")
        return
    rows = [[one.command, f"--{one.option}", _text(one.value), one.source] for one in found]
    screen.show(aligned([["command", "option", "value", "from"], *rows], n_left=4))


def _chosen(group: click.Group, name: str) -> list[tuple[str, click.Command]]:
    """Return the commands of this name, or of a group of this name; all of them without one."""
    known = list(settings_file.all_commands(group))
    if not name:
        return known
    chosen = [each for each in known if each[0] == name or each[0].startswith(f"{name} ")]
    if not chosen:
        meant = settings_file.hint(name, [each for each, _ in known])
        raise click.UsageError(f"there is no command {name!r}{meant}")
    return chosen


def _options(
    name: str, command: click.Command, file: settings_file.SettingsFile | None
) -> Iterator[SetOption]:
    known = settings_file.long_options(command)
    of_file = {} if file is None else file.values(name, known)
    for long, option in known.items():
        variable = every_command.set_variable(option)
        value, source = option.default, DEFAULT
        if long in of_file and file is not None:
            of_command = long in file.by_command.get(name, {})
            table = f"[{name.replace(' ', '.')}]" if of_command else "top level"
            value, source = of_file[long], f"{file.path}, {table}"
        if variable is not None:
            value, source = os.environ[variable], variable
        yield SetOption(name, long, _plain(value), source)


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it, without passwords; None for what is not set."""
    if isinstance(value, str):
        return log_lines.without_secrets(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float) else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
