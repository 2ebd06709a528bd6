"""`RunningProxy`: a whole kproxy in the process of the test, in front of a scripted cluster."""

import asyncio
from types import TracebackType
from typing import Final, Self

from kproxy.admin.views import ProxyState, ShareGroupsView
from kproxy.application.proxy import Proxy
from kproxy.error_codes import ErrorCode
from kproxy.net.relay.early_ports import EarlyPorts
from kproxy.settings import HostPort, Settings, ShareUpstream
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.real_kafka.ports import ReservedPort
from tests.worlds.state_logs import STATE, create_state_topics

HERE: Final = "127.0.0.1"
COMMIT: Final = "0123456789ab"
PROBE: Final = ApiKey.SHARE_GROUP_DESCRIBE


class RunningProxy:
    """A kproxy in front of `cluster`, whose brokers answer the probe for share groups as `said` has it.

    Each probe takes the first of `said`; the last stays. The ports that it opens are nobody else's until its end. One
    that runs `beside` another one is in its fleet.
    """

    def __init__(
        self,
        cluster: ScriptedStateLog,
        *said: ErrorCode,
        upstream: ShareUpstream = ShareUpstream.REFUSE,
        is_enabled: bool = True,
        grace_ms: int = 10_000,
        beside: Self | None = None,
        admin: HostPort | None = None,
        admin_token_file: str = "",
    ) -> None:
        self.said = list(said)
        self._ports = {node_id: ReservedPort(HERE) for node_id in cluster.brokers}
        self._cluster = cluster
        for broker in cluster.brokers.values():
            broker.version_ranges[PROBE] = (1, 1)
            broker.answers[PROBE] = lambda _: self._say()
        if beside is None:
            create_state_topics(cluster)
        self.coordination = InMemoryFleetCluster(within=cluster, group_id=STATE) if beside is None else None
        settings = Settings(
            bootstrap_servers=tuple(cluster.bootstrap_servers),
            listen=HostPort(HERE, 0),
            broker_port_map={node_id: port.number for node_id, port in self._ports.items()},
            advertised_host=HERE,
            admin_listener=admin,
            admin_token_file=admin_token_file,
            share_upstream=upstream,
            share_enable=is_enabled,
            shutdown_grace_ms=grace_ms,
        )
        self.proxy = Proxy(settings, EarlyPorts(), commit=COMMIT)
        self._life: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self.coordination is not None:
            await self.coordination.__aenter__()
        self._life = asyncio.get_running_loop().create_task(self.proxy.start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            for port in self._ports.values():
                port.release()
            if self.coordination is not None:
                await self.coordination.__aexit__(kind, error, trace)

    async def stop(self) -> None:
        """Do what SIGTERM does; once, however often called."""
        life, self._life = self._life, None
        if life is None:
            return
        self.proxy.shutdown.request()
        try:
            await life
        finally:
            await self.proxy.stop()

    @property
    def share_groups(self) -> ShareGroupsView:
        """What `/api/v1/status` says of share groups."""
        return self.proxy._vitals.status().share_groups

    @property
    def advertised(self) -> set[int]:
        """The share APIs that clients are told of."""
        return set(self.proxy._routes.served)

    @property
    def failed_checks(self) -> dict[str, str]:
        """The checks of `/readyz` that do not pass, with what they say."""
        results = self.proxy._vitals.readiness().named_results()
        return {each.check: each.detail for each in results if not each.is_passed}

    @property
    def is_started(self) -> bool:
        """Whether its start is over."""
        return self.proxy._vitals.state is ProxyState.READY

    @property
    def has_open_ports(self) -> bool:
        """Whether every broker has a port."""
        return set(self._cluster.brokers) <= set(self.proxy._listeners.bound_ports)

    @property
    def probe_count(self) -> int:
        """How often a broker was asked."""
        return len(self._cluster.asked(PROBE))

    async def refresh(self) -> None:
        """Do what happens every `metadata.max.age.ms`."""
        await self.proxy._metadata.refresh()

    def _say(self) -> ShareGroupDescribeResponse:
        code = self.said[0] if len(self.said) == 1 else self.said.pop(0)
        return ShareGroupDescribeResponse(groups=[DescribedGroup(error_code=code)])
