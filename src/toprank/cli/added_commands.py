"""Commands that other installed distributions add to `toprank`.

A distribution names them in the entry points of the group `toprank.commands`:

    [project.entry-points."toprank.commands"]
    bench = "toprank_bench.commands.bench:bench"
"""

from importlib.metadata import EntryPoint, entry_points

import click

from toprank.cli import every_command, settings_file

GROUP = "toprank.commands"
# commands of packages that are not installed with toprank: how to get them
ELSEWHERE = {
    "bench": "it is in the package toprank-bench; in a clone of the repository, "
    "`make bench-setup` installs it."
}


class ToprankGroup(click.Group):
    """The commands of toprank, and those that installed distributions add."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, our own first."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in sorted(_added()) if name not in own)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by its name; one that is added loads now. None if there is none."""
        own = super().get_command(ctx, name)
        if own is not None:
            return own
        added = _added().get(name)
        if added is not None:
            return _prepared(name, _loaded(added))
        if name in ELSEWHERE:
            raise click.ClickException(f"toprank {name} is not installed: {ELSEWHERE[name]}")
        return None


def _prepared(name: str, command: click.Command) -> click.Command:
    """Return a command that takes what all commands take."""
    if isinstance(command, click.Group):
        for inner, each in settings_file.all_commands(command, f"{name} "):
            every_command.prepare(inner, each)
    else:
        every_command.prepare(name, command)
    return command


def _added() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _loaded(entry: EntryPoint) -> click.Command:
    command = entry.load()
    if not isinstance(command, click.Command):
        raise TypeError(f"entry point {entry.value!r} of {GROUP} must be a click command.")
    return command
