"""The command line: one file per command, each a few lines around the library."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click

from toprank import startup
from toprank.cli import every_command, log_lines, screen, standard_streams
from toprank.cli.added_commands import ToprankGroup
from toprank.cli.anomalies import anomalies
from toprank.cli.audit_commands import audit
from toprank.cli.compare import compare
from toprank.cli.completion import completion
from toprank.cli.demo import demo
from toprank.cli.desk_commands import desk
from toprank.cli.evaluate import evaluate
from toprank.cli.explain import explain
from toprank.cli.export import export
from toprank.cli.feedback import feedback
from toprank.cli.fit import fit
from toprank.cli.history_commands import history
from toprank.cli.keys import keys
from toprank.cli.label import label
from toprank.cli.make_features import make_features
from toprank.cli.model_commands import models
from toprank.cli.option_names import as_typed
from toprank.cli.rank import rank
from toprank.cli.refit import refit
from toprank.cli.replay_log import replay
from toprank.cli.retrain import retrain
from toprank.cli.rule_commands import rules
from toprank.cli.serve import serve
from toprank.cli.settings_command import settings
from toprank.cli.simulate import simulate
from toprank.cli.stage_commands import worker
from toprank.cli.stream import stream
from toprank.cli.stream_commands import streams
from toprank.cli.users import users
from toprank.cli.version_option import print_versions
from toprank.cli.warm_up import warm_up


@click.group(
    cls=ToprankGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_versions,
    help="Print the versions of toprank and of the libraries it uses.",
)  # fmt: skip
def commands() -> None:
    """Rank rare events: the shortest list of alerts with the most frauds in it.

    \b
    Start here:
      toprank demo
      toprank fit payments.csv --label is_fraud --time paid_at --budget 100 -o payments.toprank
      toprank rank payments.toprank today.csv -o alerts.csv
    """


for command in (
    demo, fit, rank, label, refit, history, explain, evaluate, export, compare, anomalies, stream,
    make_features, simulate, feedback, desk, users, keys, rules, retrain, models, serve, streams,
    worker, replay, audit, settings, warm_up, completion,
):  # fmt: skip
    commands.add_command(command)
every_command.before_the_command(commands)
every_command.after_the_command(commands)


def main() -> None:
    """Run the command line, and exit with a code of `docs/commands.md`."""
    standard_streams.prepare()
    with warnings.catch_warnings(), log_lines.restored():
        log_lines.begin(log_lines.asked_for(sys.argv[1:]))
        warnings.simplefilter("always")
        warnings.showwarning = _remarks()
        exit_code = _exit_code()
        if (log := log_lines.current()) is not None:
            log.ended(exit_code)
        sys.exit(exit_code)


def _exit_code() -> int:
    try:
        # a number is what a command asked to exit with
        asked = commands(prog_name="toprank", standalone_mode=False)
        sys.stdout.flush()
        _note_on_compiling()
        return asked if isinstance(asked, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except click.ClickException as mistake:
        _show(mistake)
        return mistake.exit_code
    except (click.Abort, KeyboardInterrupt):
        screen.remark("stopped; no file was left half-written.")
        return standard_streams.stopped_code()
    except BrokenPipeError:
        # nobody reads our output any more: flushing the rest of it at exit must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError) as error:
        screen.remark(f"toprank: {as_typed(_sentence(error))}")
    except Exception as fault:
        log = log_lines.current()
        if log is None:
            raise
        log.fault(fault)
    return 1


def _show(mistake: click.ClickException) -> None:
    """Print what is wrong with a call: below its usage for people, alone in a log."""
    if isinstance(mistake, click.UsageError) and (origin := every_command.where_from(mistake)):
        mistake = click.UsageError(mistake.format_message() + origin, mistake.ctx)
    log = log_lines.current()
    if log is None:
        mistake.show()
    else:
        log.event("error", "error", mistake.format_message())


def _note_on_compiling() -> None:
    """Say how the next command can start sooner, if this one could not keep what it compiled."""
    if startup.forgets_kernels() and "numba" in sys.modules:
        screen.remark(
            "note: compiled code could not be kept, so every command compiles it again; set "
            "NUMBA_CACHE_DIR to a folder that you can write to."
        )


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}" if str(error) else "out of memory."
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror.lower()}."
    return str(error)


def _remarks() -> Callable[..., None]:
    """Return a function that shows each of our own warnings once, and none of other packages."""
    shown: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message)
        if category.__module__.startswith("toprank") and text not in shown:
            shown.add(text)
            screen.remark(f"note: {as_typed(text)}")

    return show
