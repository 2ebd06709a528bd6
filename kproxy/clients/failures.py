"""What goes wrong when somebody else is asked. Each class says how a command ends that had to give up because of it."""

from typing import ClassVar

from kproxy.errors import ExitCode, KproxyError


class ClientFailed(KproxyError):
    """Somebody who was asked gave no answer that is of use. The text is one line that says who, what, and why.

    Raised by `kproxy.clients`. The command line prints it and exits with `exit_code`; jobs raise it as their own.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class CannotConnect(ClientFailed):
    """Nobody answers there, or whoever does gives no access."""

    exit_code = ExitCode.CANNOT_CONNECT


class NotAllowed(ClientFailed):
    """Whoever was asked does not let this client do it."""

    exit_code = ExitCode.CANNOT_CONNECT


class NotThere(ClientFailed):
    """Whoever was asked has no such topic, no such group, or no such record any more."""

    exit_code = ExitCode.NOT_FOUND


class TopicNotThere(NotThere):
    """The cluster has no topic of that name, or hides it. Which option names another, the command adds."""


class WrongAddress(ClientFailed):
    """What was given for an address is none."""

    exit_code = ExitCode.USAGE


class UnusableToken(ClientFailed):
    """The file that is to have a token has none."""

    exit_code = ExitCode.USAGE


class WrongClientOption(ClientFailed):
    """kafka-python does not take an option, or not its value. Who gave it says where."""

    exit_code = ExitCode.USAGE


class WrongDumpLine(ClientFailed):
    """Text that is no line of a dump of the state log."""

    exit_code = ExitCode.USAGE

    def __init__(self, reason: str, line: str) -> None:
        super().__init__(f"no line of kproxy log dump -o jsonl ({reason}): {line}")
