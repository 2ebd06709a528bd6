"""The entries of the registry: which handler serves each API of share groups, in which versions, and how it says no."""

from collections.abc import Sequence
from dataclasses import dataclass

from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.apis.delete_groups import DeleteGroupsHandler, refuse_deletions
from kproxy.handlers.apis.find_share_coordinator import find_share_coordinator
from kproxy.handlers.apis.group_config_apis import group_config_apis
from kproxy.handlers.apis.group_id_guard import guarded_apis
from kproxy.handlers.apis.list_groups import ListGroupsHandler, refuse_listing
from kproxy.handlers.apis.share_acknowledge import ShareAcknowledgeHandler
from kproxy.handlers.apis.share_fetch import ShareFetchHandler
from kproxy.handlers.apis.share_group_describe import ShareGroupDescribeHandler, refuse_description
from kproxy.handlers.apis.share_group_heartbeat import HeartbeatPorts, ShareGroupHeartbeatHandler
from kproxy.handlers.apis.share_offset_apis import share_offset_apis
from kproxy.handlers.apis.share_offset_requests import ShareOffsetServices
from kproxy.handlers.apis.share_state_apis import share_state_apis
from kproxy.handlers.apis.share_state_requests import ShareStateServices
from kproxy.handlers.backlog import Backlogs
from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.groups.held_heartbeats import HeldHeartbeats
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.live.acknowledgements import Acknowledgements
from kproxy.handlers.live.releases import Releases
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.offset_store import ShareOffsetStore
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.share_state_store import ShareStateStore
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the handlers are made of: the parts of `ShareGroups`, and the ports of heartbeats."""

    coordinator: GroupCoordinator
    configs: GroupConfigs
    services: ShareServices
    releases: Releases
    writes: GroupWrites
    held: HeldHeartbeats
    limits: EffectiveLimits
    fetch_max_bytes: int
    administration: AdministrationBounds
    heartbeat_ports: HeartbeatPorts
    state_deletions: StateDeletions
    offset_store: ShareOffsetStore
    backlogs: Backlogs
    share_state_store: ShareStateStore | None


def served_apis(parts: ApiParts) -> tuple[ServedApi, ...]:
    """Return the APIs that are kproxy's alone; those of the share coordinator where there is a store for them."""
    acknowledgements = Acknowledgements(parts.services, parts.releases)
    heartbeat = ShareGroupHeartbeatHandler(
        parts.coordinator,
        parts.limits.of_members,
        ports=parts.heartbeat_ports,
        writes=parts.writes,
        held=parts.held,
        on_initialized=parts.services.directory.discard,
    )
    fetch = ShareFetchHandler(
        parts.services, acknowledgements, limits=parts.limits, fetch_max_bytes=parts.fetch_max_bytes
    )
    acknowledge = ShareAcknowledgeHandler(parts.services, acknowledgements, parts.limits)
    describe = ShareGroupDescribeHandler(
        parts.coordinator,
        coordinators=parts.heartbeat_ports.coordinators,
        group_log=parts.heartbeat_ports.group_log,
        observer=parts.heartbeat_ports.observer,
        bounds=parts.administration,
        authorization=parts.services.authorization,
    )
    return (
        ServedApi(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, describe.serve, refuse_parts=refuse_description),
        ServedApi(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, heartbeat.serve, ShareGroupHeartbeatResponse),
        ServedApi(ApiKey.SHARE_FETCH, 1, 2, fetch.serve, ShareFetchResponse),
        ServedApi(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, acknowledge.serve, ShareAcknowledgeResponse),
        *share_offset_apis(_share_offset_services(parts)),
        *_share_state_apis(parts),
    )


def partial_apis(parts: ApiParts) -> tuple[ServedApi, ...]:
    """Return the APIs of which kproxy serves the part that is about share groups."""
    ports, authorization = parts.heartbeat_ports, parts.services.authorization
    return (
        *group_config_apis(
            parts.configs, ports.group_log, ports.observer, authorization, bounds=parts.administration
        ),
        *_group_apis(parts),
        *guarded_apis(ports.coordinators, authorization),
        find_share_coordinator(authorization),
    )


def _group_apis(parts: ApiParts) -> Sequence[ServedApi]:
    ports, authorization = parts.heartbeat_ports, parts.services.authorization
    listing = ListGroupsHandler(
        parts.coordinator,
        coordinators=ports.coordinators,
        group_log=ports.group_log,
        authorization=authorization,
    )
    deletion = DeleteGroupsHandler(
        parts.coordinator,
        ports.deletions,
        coordinators=ports.coordinators,
        group_log=ports.group_log,
        observer=ports.observer,
        bounds=parts.administration,
        authorization=authorization,
    )
    return (
        ServedApi(ApiKey.LIST_GROUPS, 0, 5, listing.serve, refuse_parts=refuse_listing),
        ServedApi(ApiKey.DELETE_GROUPS, 0, 3, deletion.serve, refuse_parts=refuse_deletions),
    )


def _share_offset_services(parts: ApiParts) -> ShareOffsetServices:
    ports = parts.heartbeat_ports
    return ShareOffsetServices(
        coordinator=parts.coordinator,
        directory=parts.services.directory,
        writes=parts.writes,
        state_deletions=parts.state_deletions,
        group_deletions=ports.deletions,
        store=parts.offset_store,
        backlogs=parts.backlogs,
        metadata=ports.metadata,
        group_log=ports.group_log,
        coordinators=ports.coordinators,
        observer=ports.observer,
        bounds=parts.administration,
        authorization=parts.services.authorization,
        quotas=ports.quotas,
    )


def _share_state_apis(parts: ApiParts) -> Sequence[ServedApi]:
    store, ports = parts.share_state_store, parts.heartbeat_ports
    if store is None:
        return ()
    on_change = parts.services.directory.discard
    services = ShareStateServices(store, ports.metadata, ports.observer, on_change=on_change)
    return share_state_apis(services, parts.services.authorization)
