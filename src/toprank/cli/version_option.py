"""`toprank --version`: our version, and those of the libraries that decide what a model does."""

import platform
from typing import Any

import click

from toprank import __version__

_LIBRARIES = ("numpy", "scikit-learn", "numba", "pyarrow")
_BUILDS = ("xgboost-cpu", "xgboost")  # of the same module


def version_lines() -> str:
    """Return one line per version; nothing is imported to find them out."""
    lines = [f"toprank {__version__}", f"python {platform.python_version()}"]
    lines += [_line(name) or f"{name} is not installed" for name in _LIBRARIES]
    lines += [line for name in _BUILDS if (line := _line(name))] or ["xgboost is not installed"]
    return "\n".join(lines)


def print_versions(context: click.Context, _option: Any, is_asked: bool) -> None:
    """Print the versions and end the command, when the option is given."""
    if is_asked and not context.resilient_parsing:
        click.echo(version_lines())
        context.exit()


def _line(name: str) -> str:
    """Return a package with its version; "" when it is not installed."""
    from importlib import metadata

    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""
