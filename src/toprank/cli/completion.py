"""`toprank completion`: the script by which a shell completes commands, options and files."""

import click
from click.shell_completion import get_completion_class

EXAMPLES = """
\b
Examples:
  echo 'eval "$(toprank completion bash)"' >> ~/.bashrc
  echo 'eval "$(toprank completion zsh)"' >> ~/.zshrc
  toprank completion fish > ~/.config/fish/completions/toprank.fish
"""


@click.command(epilog=EXAMPLES, short_help="Print the script for completion in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes toprank's commands, options and files in SHELL.

    bash must be 4.4 or newer. Open a new shell after installing the script.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    group = context.find_root().command
    click.echo(kind(group, {}, "toprank", "_TOPRANK_COMPLETE").source())
