"""`kproxy completion`: scripts that let a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

COMPLETION_VARIABLE = "_KPROXY_COMPLETE"
"""The variable through which the script asks kproxy for completions; the name is click's habit."""


@click.command(
    epilog="""Examples:

\b
  source <(kproxy completion bash)
  kproxy completion fish > ~/.config/fish/completions/kproxy.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands and options, and the names of groups, topics and members: those are asked of the running
    kproxy, which has to answer at once.
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    command = context.find_root().command
    click.echo(completion_class(command, {}, "kproxy", COMPLETION_VARIABLE).source())
