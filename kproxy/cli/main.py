"""The entry point `kproxy`, and the table of its commands."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import click

from kproxy.cli.exit_codes import failure_of
from kproxy.errors import KproxyError


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command is and what it is for; `kproxy --help` needs no more."""

    module: str
    attribute: str
    purpose: str

    def load(self) -> click.Command:
        """Import the command."""
        command = getattr(import_module(self.module), self.attribute)
        assert isinstance(command, click.Command)
        return command


COMMANDS: Final[Mapping[str, LazyCommand]] = {
    "run": LazyCommand("kproxy.cli.run", "run", "Run the proxy in front of a Kafka cluster."),
    "status": LazyCommand("kproxy.cli.status", "status", "Show what a running kproxy is and does."),
    "groups": LazyCommand("kproxy.cli.groups", "groups", "Show and change share groups."),
    "top": LazyCommand(
        "kproxy.cli.top", "top", "Show the share groups that do worst first, with their rates, live."
    ),
    "why": LazyCommand("kproxy.cli.why", "why", "Say why a share group does not move."),
    "brokers": LazyCommand(
        "kproxy.cli.brokers", "brokers", "Show the backing brokers as a running kproxy sees them."
    ),
    "sessions": LazyCommand(
        "kproxy.cli.sessions", "sessions", "Show the share sessions of a running kproxy."
    ),
    "in-flight": LazyCommand(
        "kproxy.cli.in_flight", "in_flight", "Show the records in flight of a running kproxy."
    ),
    "log": LazyCommand("kproxy.cli.log", "log", "Read the state log in the backing cluster."),
    "replay": LazyCommand(
        "kproxy.cli.replay", "replay", "Ask the history of every share group: Spark replays the state log."
    ),
    "doctor": LazyCommand("kproxy.cli.doctor", "doctor", "Look for what stands in the way of kproxy."),
    "decode": LazyCommand("kproxy.cli.decode", "decode", "Show Kafka frames by name and field."),
    "config": LazyCommand("kproxy.cli.config", "config", "Show or validate the configuration."),
    "completion": LazyCommand(
        "kproxy.cli.completion", "completion", "Print the completion script of a shell."
    ),
    "version": LazyCommand("kproxy.cli.version", "version", "Print the version."),
}
"""Every command, in the order of the help text."""


def _print_version(context: click.Context) -> None:
    """Print what `kproxy version` does, and exit."""
    if not context.resilient_parsing:
        click.echo(import_module("kproxy.cli.version").version_line())
        context.exit()


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and turns kproxy's errors into exit codes."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        command = COMMANDS.get(name)
        return command.load() if command else None

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.purpose) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KproxyError as error:
            raise failure_of(error) from error


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 cannot connect or not allowed, "
    "5 a check failed, 6 partial failure.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, is_wanted: _print_version(context) if is_wanted else None,
    help="Show the version and exit.",
)
def cli() -> None:
    """Kafka share groups (KIP-932) for clusters that lack them."""


def main() -> None:
    """Run the command line of this process, and exit."""
    cli.main(prog_name="kproxy", color=False if os.environ.get("NO_COLOR") else None)
