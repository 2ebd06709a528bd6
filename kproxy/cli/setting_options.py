"""The options that every command shares which reads the configuration."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

import click

from kproxy.settings import Assignment, LoadedSettings, assignment_of_override, load_settings

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Flag:
    """A key with a flag of its own; all others are set with `-X`."""

    names: tuple[str, ...]
    key: str
    metavar: str
    help: str

    @property
    def parameter(self) -> str:
        """The name that click gives to the parameter."""
        return self.names[-1].removeprefix("--").replace("-", "_")


FLAGS: Final = (
    Flag(
        ("-b", "--bootstrap-server"),
        "bootstrap.servers",
        "HOST:PORT[,…]",
        "The backing cluster. [bootstrap.servers]",
    ),
    Flag(("--listen",), "kproxy.listen", "HOST:PORT", "Where clients bootstrap. [kproxy.listen]"),
    Flag(
        ("--broker-port-start",),
        "kproxy.broker.port.start",
        "PORT",
        "A broker's port is this plus its node id. [kproxy.broker.port.start]",
    ),
    Flag(
        ("--advertised-host",),
        "kproxy.advertised.host",
        "HOST",
        "The host that clients are told to connect to. [kproxy.advertised.host]",
    ),
    Flag(
        ("--admin-listener",),
        "kproxy.admin.listener",
        "HOST:PORT",
        "Health, metrics and status over HTTP; none turns it off. [kproxy.admin.listener]",
    ),
)


OVERRIDE: Final = click.option(
    "-X", "overrides", multiple=True, metavar="KEY=VALUE", help="Set any key; may be given several times."
)
CONFIG_FILE: Final = click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A .toml or a .properties file.",
)


def loaded_settings(
    file: object, overrides: object, assignments: Sequence[Assignment] = ()
) -> LoadedSettings:
    """Return the settings by the values of `CONFIG_FILE` and `OVERRIDE`, of other flags, and by the environment.

    Raises:
        SettingsError: lists everything that is wrong.
    """
    assert file is None or isinstance(file, Path)
    assert isinstance(overrides, tuple)
    said = [*assignments, *(assignment_of_override(override) for override in overrides)]
    return load_settings(file=file, environment=os.environ, command_line=said)


def with_settings(command: Callable[Concatenate[LoadedSettings, P], R]) -> Callable[P, R]:
    """Give `command` the options that set keys, and call it with the settings loaded from them first.

    Flags and `-X` win over the environment, that over the file, that over the defaults. A flag and a `-X`
    that contradict each other are an error.
    """
    return _with_settings(command, FLAGS)


def with_cluster_settings(command: Callable[Concatenate[LoadedSettings, P], R]) -> Callable[P, R]:
    """Do the same for a command that only wants to find the backing cluster: `-b`, `-c` and `-X`."""
    return _with_settings(command, FLAGS[:1])


def _with_settings(
    command: Callable[Concatenate[LoadedSettings, P], R], flags: Sequence[Flag]
) -> Callable[P, R]:
    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        file, overrides = options.pop("config_file"), options.pop("overrides")
        said = [(flag, options.pop(flag.parameter)) for flag in flags]
        assignments = [
            Assignment(flag.key, str(text), flag.names[-1]) for flag, text in said if text is not None
        ]
        return command(loaded_settings(file, overrides, assignments), *arguments, **options)

    return _with_click_options(with_options, flags)


def _with_click_options(command: Callable[P, R], flags: Sequence[Flag]) -> Callable[P, R]:
    decorated = CONFIG_FILE(OVERRIDE(command))
    for flag in reversed(flags):
        decorated = click.option(*flag.names, metavar=flag.metavar, help=flag.help)(decorated)
    return decorated
