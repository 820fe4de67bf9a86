"""The command line: one file per command, each a few lines around the library."""

import sys
import warnings
from typing import Any

import click

from toprank import __version__
from toprank.cli.demo import demo
from toprank.cli.evaluate import evaluate
from toprank.cli.explain import explain
from toprank.cli.fit import fit
from toprank.cli.rank import rank


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="toprank")
def commands() -> None:
    """Rank rare events: the shortest list of alerts with the most frauds in it.

    \b
    Start here:
      toprank demo
      toprank fit payments.csv --label is_fraud --time paid_at --budget 100 -o payments.toprank
      toprank rank payments.toprank today.csv -o alerts.csv
    """


for command in (demo, fit, rank, explain, evaluate):
    commands.add_command(command)


def main() -> None:
    """Run the command line: 0 when all went well, 1 for bad input, 2 for a wrong call."""
    warnings.showwarning = _remark
    try:
        commands(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as mistake:
        mistake.show()
        sys.exit(mistake.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; nothing was written.", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nobody is left to tell
        sys.exit(1)
    except (ValueError, TypeError, OSError, ImportError) as error:
        click.echo(f"toprank: {_sentence(error)}", err=True)
        sys.exit(1)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}."
    return str(error)


def _remark(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show our own warnings as plain remarks; those of other libraries are not for users."""
    if category.__module__.startswith("toprank"):
        click.echo(f"note: {message}", err=True)
