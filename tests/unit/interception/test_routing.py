"""The routing table: what becomes of each API and version."""

import pytest

from kproxy.interception.known_versions import NEWEST_KNOWN, SHARE_KEYS
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire.api_keys import ApiKey

ON = RoutingTable({76: (1, 1), 78: (1, 2), 79: (1, 2)})
OFF = RoutingTable({})


@pytest.mark.parametrize(
    ("api_key", "version", "disposition"),
    [
        (ApiKey.PRODUCE, 0, Disposition.FORWARD),
        (ApiKey.PRODUCE, 9, Disposition.FORWARD),
        (ApiKey.PRODUCE, 10, Disposition.REWRITE),
        (ApiKey.PRODUCE, 13, Disposition.REWRITE),
        (ApiKey.PRODUCE, 14, Disposition.REFUSE),
        (ApiKey.FETCH, 0, Disposition.FORWARD),
        (ApiKey.FETCH, 15, Disposition.FORWARD),
        (ApiKey.FETCH, 16, Disposition.NEUTRALISE),
        (ApiKey.FETCH, 18, Disposition.NEUTRALISE),
        (ApiKey.FETCH, 19, Disposition.REFUSE),
        (ApiKey.METADATA, 11, Disposition.REWRITE),
        (ApiKey.METADATA, 12, Disposition.EXAMINE),
        (ApiKey.FIND_COORDINATOR, 0, Disposition.EXAMINE),
        (ApiKey.API_VERSIONS, 4, Disposition.REWRITE),
        (ApiKey.API_VERSIONS, 5, Disposition.EXAMINE),
        (ApiKey.API_VERSIONS, 32_767, Disposition.EXAMINE),
        (ApiKey.API_VERSIONS, -1, Disposition.REFUSE),
        (ApiKey.SASL_HANDSHAKE, 0, Disposition.REFUSE),
        (ApiKey.SASL_HANDSHAKE, 1, Disposition.EXAMINE),
        (ApiKey.SASL_AUTHENTICATE, 2, Disposition.EXAMINE),
        (ApiKey.DESCRIBE_CONFIGS, 0, Disposition.FORWARD),
        (ApiKey.DESCRIBE_CONFIGS, 1, Disposition.EXAMINE),
        (ApiKey.ALTER_CONFIGS, 0, Disposition.EXAMINE),
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, Disposition.EXAMINE),
        (ApiKey.LIST_CONFIG_RESOURCES, 0, Disposition.FORWARD),
        (ApiKey.LIST_CONFIG_RESOURCES, 1, Disposition.EXAMINE),
        (ApiKey.JOIN_GROUP, 0, Disposition.GUARD),
        (ApiKey.JOIN_GROUP, 9, Disposition.GUARD),
        (ApiKey.CREATE_TOPICS, 2, Disposition.NOTICE),
        (ApiKey.DELETE_TOPICS, 6, Disposition.NOTICE),
        (ApiKey.CREATE_PARTITIONS, 0, Disposition.NOTICE),
        (ApiKey.DELETE_RECORDS, 2, Disposition.NOTICE),
        (ApiKey.OFFSET_COMMIT, 1, Disposition.FORWARD),
        (ApiKey.OFFSET_COMMIT, 2, Disposition.GUARD),
        (ApiKey.TXN_OFFSET_COMMIT, 0, Disposition.GUARD),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, Disposition.GUARD),
        (ApiKey.STREAMS_GROUP_HEARTBEAT, 0, Disposition.GUARD),
        (ApiKey.DESCRIBE_GROUPS, 5, Disposition.FORWARD),
        (ApiKey.DESCRIBE_GROUPS, 6, Disposition.REWRITE),
        (ApiKey.HEARTBEAT, 4, Disposition.FORWARD),
        (ApiKey.OFFSET_FETCH, 9, Disposition.FORWARD),
        (ApiKey.SHARE_GROUP_HEARTBEAT, 0, Disposition.REFUSE),
        (ApiKey.SHARE_GROUP_HEARTBEAT, 1, Disposition.SERVE),
        (ApiKey.SHARE_FETCH, 2, Disposition.SERVE),
        (ApiKey.SHARE_FETCH, 3, Disposition.REFUSE),
        (ApiKey.SHARE_GROUP_DESCRIBE, 1, Disposition.REFUSE),
        (ApiKey.LEADER_AND_ISR, 4, Disposition.REFUSE),
        (9999, 0, Disposition.REFUSE),
    ],
)
def test_each_version_has_its_disposition(api_key: int, version: int, disposition: Disposition) -> None:
    assert ON.disposition(api_key, version) is disposition


def test_without_share_groups_their_apis_are_unknown_and_group_configs_are_the_brokers() -> None:
    assert {OFF.disposition(key, 1) for key in SHARE_KEYS} == {Disposition.REFUSE}
    assert OFF.disposition(ApiKey.DESCRIBE_CONFIGS, 4) is Disposition.FORWARD
    assert OFF.disposition(ApiKey.JOIN_GROUP, 9) is Disposition.FORWARD


def test_while_share_groups_are_disabled_only_their_own_apis_are_kproxys() -> None:
    table = RoutingTable({})

    table.serve({76: (1, 1)}, is_feature_on=False)

    assert table.disposition(ApiKey.SHARE_GROUP_HEARTBEAT, 1) is Disposition.SERVE
    assert table.disposition(ApiKey.DESCRIBE_CONFIGS, 4) is Disposition.FORWARD
    assert table.disposition(ApiKey.JOIN_GROUP, 9) is Disposition.FORWARD
    assert not table.is_shared(ApiKey.LIST_GROUPS)
    assert not table.is_shared(ApiKey.DELETE_GROUPS)
    assert not table.is_feature_on


def test_turning_share_groups_on_takes_effect_in_the_same_table() -> None:
    table = RoutingTable({})

    table.serve({78: (1, 2)})

    assert table.disposition(ApiKey.SHARE_FETCH, 1) is Disposition.SERVE


def test_no_share_api_of_the_backing_broker_is_ever_forwarded() -> None:
    assert not SHARE_KEYS & set(NEWEST_KNOWN)
