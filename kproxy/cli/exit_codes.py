"""How a command ends when it did not do what it was asked."""

import click

from kproxy.clients.failures import ClientFailed
from kproxy.clients.tables import printable
from kproxy.errors import BrokerUnavailable, ExitCode, KproxyError, SettingsError
from kproxy.wording import counted

__all__ = ["CommandFailed", "ExitCode", "failure_of"]


class CommandFailed(click.ClickException):
    """A command that did not do what it was asked. Click prints the message and exits with the code.

    What others say of themselves may stand in it: characters that a terminal would obey are shown as escapes.
    """

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(printable(message))
        # click declares this as a class variable, and its own exceptions set it per instance just so.
        self.exit_code = exit_code  # type: ignore[misc]


def failure_of(error: KproxyError) -> CommandFailed:
    """Return what the command line makes of an error that came up from below."""
    match error:
        case SettingsError():
            return CommandFailed(_listed(str(error)), ExitCode.USAGE)
        case ClientFailed():
            return CommandFailed(str(error), error.exit_code)
        case BrokerUnavailable():
            return CommandFailed(str(error), ExitCode.CANNOT_CONNECT)
        case _:
            return CommandFailed(str(error), ExitCode.FAILED)


def _listed(problems: str) -> str:
    lines = problems.splitlines()
    if len(lines) == 1:
        return lines[0]
    return "\n  ".join([f"the configuration has {counted(len(lines), 'problem')}", *lines])
