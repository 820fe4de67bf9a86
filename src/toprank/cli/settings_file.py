"""The settings file, `toprank.toml`: options of commands, written down once.

    label = "is_fraud"          # every command that has --label
    [fit]
    budget = 50                 # toprank fit alone
    [desk.init]                 # toprank desk init
    model = "payments.toprank"

A key is the long name of an option, as it is typed. What no command has is an error, so that a
typing error cannot pass for a setting.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

NAME = "toprank.toml"
_OF_ALL = ("help", "version", "settings", "log")


class SettingsFile(NamedTuple):
    """What a settings file says: options of all commands, and of each by its whole name."""

    path: Path
    common: Mapping[str, Any]
    by_command: Mapping[str, Mapping[str, Any]]

    def values(self, command: str, known: Mapping[str, click.Option]) -> dict[str, Any]:
        """Return the options of one command that the file sets, by their long names."""
        shared = {name: value for name, value in self.common.items() if name in known}
        return shared | dict(self.by_command.get(command, {}))


def find(named: str | None) -> Path | None:
    """Return the file that was named, or the one in this folder; None if there is neither."""
    if named:
        if not Path(named).exists():
            raise click.UsageError(f"--settings {named}: there is no such file.")
        return Path(named)
    here = Path(NAME)
    return here if here.is_file() else None


def read(path: Path, group: click.Group) -> SettingsFile:
    """Return what a file says, if all of it is of commands and options that exist."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} must be written in TOML: {error}.") from error
    common = {name: value for name, value in content.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    every = _all_options(group)
    for name, value in common.items():
        if name == "log":
            continue  # of all commands; its value is checked when it is used
        _check(path, "", name, value, every)
        if name == "output" or every[name].is_flag:
            raise click.UsageError(
                f"{path}: {name} must be in the table of one command, such as [fit]: it is not "
                "meant for all of them."
            )
    return SettingsFile(path, common, dict(_tables(path, tables, group, "")))


def long_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names, without the dashes."""
    return {
        name: option
        for option in command.params
        if isinstance(option, click.Option) and option.name not in _OF_ALL
        if (name := long_name(option))
    }


def long_name(option: click.Option) -> str:
    """Return the long name of an option without its dashes; "" if it has none."""
    return max(option.opts, key=len).removeprefix("--") if option.opts else ""


def all_commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command that can be run, with its whole name such as "desk init"."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def hint(name: str, known: Any) -> str:
    """Return "; did you mean 'label'?" or a full stop."""
    from difflib import get_close_matches

    close = get_close_matches(name.replace("_", "-"), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else "."


def _tables(
    path: Path, tables: Mapping[str, Any], group: click.Group, before: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the options of each command that has a table; those of groups are within theirs."""
    context = click.Context(group)
    for name, table in tables.items():
        command = group.get_command(context, name)
        dotted = f"{before}{name}".replace(" ", ".")
        if command is None:
            known = group.list_commands(context)
            raise click.UsageError(
                f"{path}: there is no command for [{dotted}]{hint(name, known)}"
            )
        if not isinstance(command, click.Group):
            for option, value in table.items():
                _check(path, f"[{dotted}] ", option, value, long_options(command))
            yield f"{before}{name}", table
            continue
        inner = {key: value for key, value in table.items() if isinstance(value, dict)}
        if loose := table.keys() - inner.keys():
            first = next(iter(command.commands))
            raise click.UsageError(
                f"{path}: {sorted(loose)[0]} must be in the table of a command, such as "
                f"[{dotted}.{first}]; [{dotted}] is a group of commands."
            )
        yield from _tables(path, inner, command, f"{before}{name} ")


def _check(
    path: Path, table: str, name: str, value: Any, known: Mapping[str, click.Option]
) -> None:
    """Raise for an option that is not there, and for a value that no option can have."""
    where = f"{table}has no" if table else "no command has an"
    if name not in known:
        short = {each for option in known.values() for each in option.opts if len(each) == 2}
        if f"-{name}" in short:
            names = [key for key, each in known.items() if f"-{name}" in each.opts]
            raise click.UsageError(f"{path}: {table}{name} must be written as {names[0]!r}.")
        raise click.UsageError(f"{path}: {where} option {name!r}{hint(name, known)}")
    option = known[name]
    if option.is_flag != isinstance(value, bool):
        kind = "true or false" if option.is_flag else "a value, not true or false"
        raise click.UsageError(f"{path}: {table}{name} must be {kind}; got {value!r}.")
    if isinstance(value, dict) or (isinstance(value, list) and not option.multiple):
        raise click.UsageError(f"{path}: {table}{name} must be one value; got {value!r}.")


def _all_options(group: click.Group) -> dict[str, click.Option]:
    found: dict[str, click.Option] = {}
    for _, command in all_commands(group):
        for name, option in long_options(command).items():
            found.setdefault(name, option)
    return found
