"""The backing cluster of a command that asks it without a kproxy: by the same settings as `kproxy run`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from kproxy.cli.cluster_access import COMMAND_CONFIG, Security, security_of
from kproxy.cli.setting_options import with_cluster_settings
from kproxy.settings import LoadedSettings, Settings

P = ParamSpec("P")
R = TypeVar("R")

_TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class BackingCluster:
    """Where it is and what kproxy's topics are called there, by `settings`, and how it is reached."""

    settings: Settings
    security: Security

    def require_access(self) -> None:
        """Return if brokers with TLS or SASL let this client in: what reads topics would say less of why they do not.

        Raises:
            ClientFailed: says who does not, and why.
        """
        if self.security.is_plaintext:
            return
        from kproxy.clients.cluster.cluster_client import connected_cluster
        from kproxy.clients.cluster.connection import BrokerAddress
        from kproxy.clients.cluster.deadline import Deadline

        servers = [BrokerAddress(each.host, each.port) for each in self.settings.bootstrap_servers]
        with connected_cluster(servers, Deadline(_TIMEOUT_MS), self.security.access()):
            pass


def with_backing_cluster(command: Callable[Concatenate[BackingCluster, P], R]) -> Callable[P, R]:
    """Give `command` the options that say where the backing cluster is and how it is reached, and call it with that."""

    @wraps(command)
    def with_options(loaded: LoadedSettings, /, *arguments: P.args, **options: P.kwargs) -> R:
        command_config = options.pop("command_config")
        settings = loaded.ready_to_run()
        return command(BackingCluster(settings, security_of(settings, command_config)), *arguments, **options)

    return with_cluster_settings(COMMAND_CONFIG(with_options))
