"""Whom `kproxy groups` asks: the admin port of a running kproxy, or any cluster over Kafka's own protocol."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

import click

from kproxy.cli.admin_port import (
    ADMIN_URL_VARIABLE,
    DEFAULT_ADMIN_URL,
    default_admin_url,
    with_token_file,
)
from kproxy.cli.cluster_access import COMMAND_CONFIG, Security, security_of
from kproxy.cli.setting_options import CONFIG_FILE, OVERRIDE, loaded_settings

if TYPE_CHECKING:
    from kproxy.clients.cluster.cluster_client import ClusterClient
    from kproxy.settings.addresses import HostPort

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

DEFAULT_TIMEOUT_MS: Final = 30_000
"""That of kafka-share-groups."""
_LONGEST_TIMEOUT_MS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AdminPort:
    """A running kproxy."""

    url: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Any cluster with share groups, with how long a command may take, over everything that it asks."""

    bootstrap_servers: tuple["HostPort", ...]
    timeout_ms: int
    security: Security

    @contextmanager
    def connected(self) -> Iterator["ClusterClient"]:
        """Give a client for the length of the block. Raises ClientFailed, SettingsError."""
        from kproxy.clients.cluster.cluster_client import connected_cluster
        from kproxy.clients.cluster.connection import BrokerAddress
        from kproxy.clients.cluster.deadline import Deadline

        addresses = [BrokerAddress(server.host, server.port) for server in self.bootstrap_servers]
        with connected_cluster(addresses, Deadline(self.timeout_ms), self.security.access()) as client:
            yield client


class _Servers(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """Addresses, separated by commas."""

    name = "servers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple["HostPort", ...]:
        from kproxy.settings.addresses import parse_host_port

        try:
            return tuple(parse_host_port(text, first_port=1) for text in str(value).split(","))
        except ValueError as wrong:
            self.fail(f"{value!r}: {wrong}", param, ctx)


def with_source(command: Callable[Concatenate[AdminPort | Cluster, P], R]) -> Callable[P, R]:
    """Give `command` the options that name either source, and call it with that first.

    Without any it is the admin port at its default address. Raises UsageError when both are named, and when an option
    is given that only the other one has.
    """

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        admin_url, servers = options.pop("admin_url"), options.pop("bootstrap_servers")
        source = _source(admin_url, servers, options.pop("timeout_ms"), _SecurityOptions.taken_from(options))
        return command(source, *arguments, **options)

    admin_url = click.option(
        "--admin-url",
        metavar="URL",
        help=f"Ask the admin port of a running kproxy; default ${ADMIN_URL_VARIABLE}, or {DEFAULT_ADMIN_URL}.",
    )
    servers = _servers_option("Instead, ask any cluster with share groups: kproxy, or Kafka from 4.2 on.")
    return admin_url(with_token_file(servers(_security_options(_timeout_option(None)(with_options)))))


def with_cluster(command: Callable[Concatenate[Cluster, P], R]) -> Callable[P, R]:
    """Give `command` the options that name a cluster, of which `-b` is required, and call it with that first."""

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        servers, timeout_ms = options.pop("bootstrap_servers"), options.pop("timeout_ms")
        security = _SecurityOptions.taken_from(options).security()
        assert isinstance(servers, tuple)
        assert isinstance(timeout_ms, int)
        return command(Cluster(servers, timeout_ms, security), *arguments, **options)

    servers = _servers_option("A cluster with share groups: kproxy, or Kafka from 4.2 on.", is_required=True)
    return servers(_security_options(_timeout_option(DEFAULT_TIMEOUT_MS)(with_options)))


@dataclass(frozen=True, slots=True)
class _SecurityOptions:
    """What the options say of how brokers are reached."""

    command_config: object
    config_file: object
    overrides: object

    @staticmethod
    def taken_from(options: dict[str, object]) -> "_SecurityOptions":
        """Return them; `options` are without them then."""
        return _SecurityOptions(
            options.pop("command_config"), options.pop("config_file"), options.pop("overrides")
        )

    def __bool__(self) -> bool:
        return self.command_config is not None or self.config_file is not None or bool(self.overrides)

    def security(self) -> Security:
        """Return what they say, with the environment. Raises SettingsError."""
        return security_of(loaded_settings(self.config_file, self.overrides).settings, self.command_config)


def _source(
    admin_url: object, servers: object, timeout_ms: object, security: _SecurityOptions
) -> AdminPort | Cluster:
    if isinstance(servers, tuple):
        if admin_url is not None:
            raise click.UsageError("give --admin-url or --bootstrap-server, not both: each is another answer")
        timeout_ms = timeout_ms if isinstance(timeout_ms, int) else DEFAULT_TIMEOUT_MS
        return Cluster(servers, timeout_ms, security.security())
    if timeout_ms is not None:
        raise click.UsageError(
            "--timeout goes with --bootstrap-server: the admin port answers in 10 s or not at all"
        )
    if security:
        raise click.UsageError("--command-config, --config and -X go with --bootstrap-server")
    return AdminPort(default_admin_url() if admin_url is None else str(admin_url))


def _security_options(command: F) -> F:
    return COMMAND_CONFIG(CONFIG_FILE(OVERRIDE(command)))


def _servers_option(text: str, *, is_required: bool = False) -> Callable[[F], F]:
    return click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap_servers",
        metavar="HOST:PORT[,…]",
        type=_Servers(),
        required=is_required,
        help=text,
    )


def _timeout_option(default: int | None) -> Callable[[F], F]:
    return click.option(
        "--timeout",
        "timeout_ms",
        metavar="MS",
        type=click.IntRange(1, _LONGEST_TIMEOUT_MS),
        default=default,
        help=f"How long all that -b asks may take; default {DEFAULT_TIMEOUT_MS}.",
    )
