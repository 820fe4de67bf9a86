"""What every command has: --log and --settings, and where the values of its options come from.

An option that is not typed takes the value of its environment variable, `TOPRANK_FIT_LABEL` for
`toprank fit --label`, then that of the settings file, then its default. Whatever comes from the
environment or the file is named on stderr, so that nothing is picked up without a word.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import click

from toprank.cli import log_lines, screen, settings_file

_FILE, _LOG = "toprank.settings", "toprank.log"  # keys of what is typed before the command
_SETTINGS_HELP = (
    "Settings file to use.  [default: toprank.toml in this folder, or the one that "
    "TOPRANK_SETTINGS names]"
)
_LOG_HELP = (
    "Form of what is written to stderr: text, or json for one JSON object per line. It may also "
    "come after the command, as may --settings."
)


def before_the_command(group: Any) -> Any:
    """Add --log and --settings to the group of all commands."""
    for option in (
        _option(
            "--log", _LOG_HELP, _keep_log, type=click.Choice(log_lines.FORMS), envvar="TOPRANK_LOG"
        ),
        _option("--settings", _SETTINGS_HELP, _keep_settings, metavar="FILE"),
    ):
        group.params.append(option)
    return group


def after_the_command(group: click.Group) -> None:
    """Let every command take --log and --settings, and variables of the environment.

    They are listed in the help of `toprank` alone: each command would have the same two lines.
    """
    for name, command in settings_file.all_commands(group):
        prepare(name, command)


def prepare(name: str, command: click.Command) -> None:
    """Do so for one command; more than once is as good as once."""
    if any(option.name == "settings" for option in command.params):
        return
    for long, option in settings_file.long_options(command).items():
        option.envvar = [variable(name, long), *variables(option)]
    command.params[:0] = [
        _option("--settings", _SETTINGS_HELP, _apply_settings, hidden=True),
        _option("--log", _LOG_HELP, _apply_log, type=click.Choice(log_lines.FORMS), hidden=True),
    ]
    setattr(command, "invoke", partial(_invoke, command))  # noqa: B010 - mypy refuses a method


def variable(command: str, option: str) -> str:
    """Return the environment variable of an option.

    >>> variable("desk init", "alert-from")
    'TOPRANK_DESK_INIT_ALERT_FROM'
    """
    return f"TOPRANK_{command}_{option}".upper().replace(" ", "_").replace("-", "_")


def variables(option: click.Option) -> list[str]:
    """Return the environment variables of an option; the first one that is set holds."""
    return [option.envvar] if isinstance(option.envvar, str) else [*(option.envvar or ())]


def set_variable(option: click.Option) -> str | None:
    """Return the environment variable that an option takes its value from, if it does."""
    return next((each for each in variables(option) if os.environ.get(each)), None)


def name_of(context: click.Context) -> str:
    """Return the whole name of the command that runs, such as "desk init"."""
    names: list[str] = []
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        names.insert(0, at.info_name or "")
        at = at.parent
    return " ".join(names)


def file_of(context: click.Context, named: str | None = None) -> settings_file.SettingsFile | None:
    """Return the settings file in use; what is typed last holds, then TOPRANK_SETTINGS."""
    named = named or context.meta.get(_FILE) or os.environ.get("TOPRANK_SETTINGS")
    path = settings_file.find(named)
    group = context.find_root().command
    assert isinstance(group, click.Group)
    return None if path is None else settings_file.read(path, group)


def where_from(error: click.UsageError) -> str:
    """Return where a wrong value comes from, for values that nobody typed; else ""."""
    option = getattr(error, "param", None)
    if not isinstance(option, click.Option) or error.ctx is None or option.name is None:
        return ""
    source = error.ctx.get_parameter_source(option.name)
    if source is click.core.ParameterSource.ENVIRONMENT:
        return f" It is the value of {set_variable(option)}."
    if source is click.core.ParameterSource.DEFAULT_MAP:
        return f" It is set in {error.ctx.meta[_FILE]}."
    return ""


def _option(name: str, words: str, callback: Any, **others: Any) -> click.Option:
    return click.Option(
        [name], help=words, callback=callback, expose_value=False, is_eager=True, **others
    )


def _keep_log(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta[_LOG] = value
    log_lines.begin(value or "")


def _keep_settings(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta[_FILE] = value


def _apply_settings(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Take the values of the file for the options of this command."""
    if context.resilient_parsing:
        return
    command, known = _name(context), settings_file.long_options(context.command)
    found = file_of(context, value)
    values: Mapping[str, Any] = {} if found is None else found.values(command, known)
    context.meta[_FILE] = None if found is None else str(found.path)
    context.default_map = {str(known[name].name): each for name, each in values.items()}
    if found is not None and "log" in found.common:
        context.default_map["log"] = found.common["log"]


def _apply_log(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Begin the log, if it is not under way."""
    if context.resilient_parsing:
        return
    source = context.get_parameter_source("log")
    is_typed = source is click.core.ParameterSource.COMMANDLINE
    log_lines.begin((value if is_typed else context.meta.get(_LOG) or value) or "")
    _name(context)


def _name(context: click.Context) -> str:
    """Return the name of the command, which the log has from now on."""
    name = name_of(context)
    if (log := log_lines.current()) is not None:
        log.command = name
    return name


def _invoke(command: click.Command, context: click.Context) -> Any:
    """Run a command; before, log its start and name the settings that were not typed."""
    from toprank import __version__

    log = log_lines.current()
    if log is not None:
        log.event("info", "start", version=__version__)
        log_lines.report(version=__version__, **_paths(command, context))
    known = settings_file.long_options(command)
    in_file = [f"--{name}" for name in _from(context, known, "DEFAULT_MAP")]
    in_environment = [
        str(set_variable(known[name])) for name in _from(context, known, "ENVIRONMENT")
    ]
    if in_file:
        screen.remark(f"Settings from {context.meta[_FILE]}: {', '.join(in_file)}.")
    if in_environment:
        screen.remark(f"Settings from the environment: {', '.join(in_environment)}.")
    _note_unknown_variables(name_of(context), known)
    return type(command).invoke(command, context)


def _note_unknown_variables(command: str, known: Mapping[str, click.Option]) -> None:
    """Report variables that look like an option of the command and are none."""
    of_command = {name for each in known.values() for name in variables(each)}
    beginning = variable(command, "")
    for name in sorted(os.environ):
        if name.startswith(beginning) and name not in of_command:
            meant = settings_file.hint(name, of_command)
            screen.remark(f"note: {name} is no option of toprank {command}{meant}")


def _paths(command: click.Command, context: click.Context) -> dict[str, str]:
    """Return the files and folders that the command was called with, by the names in its help."""
    return {
        str(each.name): str(context.params[each.name])
        for each in command.params
        if isinstance(each.type, click.Path) and context.params.get(str(each.name))
    }


def _from(context: click.Context, known: Mapping[str, click.Option], source: str) -> Iterator[str]:
    for name, option in known.items():
        found = context.get_parameter_source(str(option.name))
        if found is not None and found.name == source:
            yield name
