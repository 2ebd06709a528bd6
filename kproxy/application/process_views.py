"""`ProcessViews`: what this process holds, to be told to people and to other processes. Imported by `late_admin`."""

from collections import Counter
from collections.abc import Sequence

from kproxy.admin.activity.own_events import OwnEvents
from kproxy.admin.cluster.broker_views import KnownBrokerView
from kproxy.admin.fleet.fleet_answers import FleetAnswers
from kproxy.admin.fleet.own_part import OwnPart
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.local_answers import Inspected, LocalAnswers
from kproxy.admin.operators.performance import Performance
from kproxy.application.admin_parts import AdminParts
from kproxy.application.vitals import VitalParts
from kproxy.handlers.ports import TopicDescription
from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.reading.backlog_survey import BacklogSurvey
from kproxy.settings import HostPort


class ProcessViews:
    """Built once, so that all who ask share what was looked for."""

    def __init__(self, parts: AdminParts) -> None:
        self.local = LocalAnswers(_inspected(parts))
        self.answers = FleetAnswers(
            self.local, parts.fleet, parts.peer_views, wall_clock=parts.wall_clock, metrics=parts.metrics
        )
        self.operators = Performance(
            self.local,
            parts.share_groups.operators,
            owners=parts.fleet,
            peer_views=parts.peer_views,
            wall_clock=parts.wall_clock,
            metrics=parts.metrics,
        )
        self.own_events = OwnEvents(
            self.local.picture, background=parts.background, process=lambda: parts.fleet.own_name
        )
        self.peer_events = PeerEvents(
            parts.fleet, parts.peer_views, background=parts.background, metrics=parts.metrics
        )
        self.own_part = OwnPart(self.answers, operators=self.operators, events=self.own_events)


class ClusterBrokers:
    """Implements `KnownBrokers`: those that the cluster names now, and those that still have a port here."""

    def __init__(self, parts: VitalParts, connections: BrokerConnections) -> None:
        self._parts = parts
        self._connections = connections

    def __call__(self) -> Sequence[KnownBrokerView]:
        """Return them by node id."""
        listed = {broker.node_id: broker for broker in self._parts.metadata.brokers}
        with_ports = self._parts.listeners.backing_brokers
        clients = Counter(connection.node_id for connection in self._parts.relay.connections)
        views = []
        for node_id in sorted({*listed, *with_ports}):
            known = listed.get(node_id)
            rack = None if known is None else known.rack
            views.append(
                self._view(known or with_ports[node_id], rack, clients[node_id], is_listed=known is not None)
            )
        return views

    def _view(
        self, broker: BackingBroker, rack: str | None, client_count: int, *, is_listed: bool
    ) -> KnownBrokerView:
        contact, view = self._connections.contact(broker.node_id), self._parts.metadata.view
        left_ms = view.left_ms(broker.node_id)
        return KnownBrokerView(
            node_id=broker.node_id,
            rack=rack,
            upstream=str(HostPort(broker.host, broker.port)),
            is_listed=is_listed,
            advertised=_text(self._parts.addresses.address_of(broker.node_id)),
            tls_advertised=_text(self._parts.listeners.tls_address_of(broker.node_id)),
            is_connected=contact.open_count > 0,
            own_connections=contact.open_count,
            client_connections=client_count,
            last_error=contact.last_error,
            last_error_age_ms=contact.last_error_age_ms,
            unlisted_ms=None if left_ms is None else self._parts.clock.now_ms() - left_ms,
            is_awaited=view.is_awaited(broker.node_id),
        )


def _inspected(parts: AdminParts) -> Inspected:
    return Inspected(
        coordinator=parts.share_groups.coordinator,
        sessions=parts.share_groups.sessions,
        directory=parts.share_groups.directory,
        topic_name=parts.topic_name,
        partition_count=lambda topic_id: _partition_count(parts.metadata.describe(topic_id)),
        client_id=lambda group_id, member_id: parts.share_groups.clients.of(group_id, member_id).client_id,
        client_host=lambda group_id, member_id: (
            parts.share_groups.clients.of(group_id, member_id).client_host
        ),
        clock=parts.clock,
        wall_clock=parts.wall_clock,
        state_log=lambda: parts.state_log.slots,
        state_topic=lambda: parts.state_log.state_topic,
        cluster_id=lambda: parts.metadata.cluster_id,
        backlogs=BacklogSurvey(metadata=parts.metadata, connections=parts.connections),
        background=parts.background,
        limits_of=parts.share_groups.limits_of,
        isolation_of=parts.share_groups.configs.isolation_level,
        counts=parts.share_groups.counters.of_group,
        unavailable=parts.vitals.why_in_doubt,
        owners=parts.fleet,
        brokers=ClusterBrokers(parts.vitals.parts, parts.connections),
        slot_place=parts.vitals.slot_place,
    )


def _partition_count(topic: TopicDescription | None) -> int | None:
    return None if topic is None else topic.partition_count


def _text(address: AdvertisedAddress | None) -> str:
    return "" if address is None else str(HostPort(address.host, address.port))
