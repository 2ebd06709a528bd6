"""Configurations of share groups, key by key and value by value: kproxy beside a stock broker with share groups."""

from typing import Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tests.real_kafka.administration import unique_name
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, NATIVE, EndpointsOfSession

GROUP: Final = 32
SET, DELETE, APPEND, SUBTRACT = range(4)
STATIC_BROKER_CONFIG: Final = 4

VALUES: Final = {
    "share.session.timeout.ms": ["44999", "60001", "abc", "", "5000", " 50000 "],
    "share.heartbeat.interval.ms": ["15001", "x", "15000"],
    "share.record.lock.duration.ms": ["999", "60001", "3600001", "x", "15000.0", "+20000"],
    "share.delivery.count.limit": ["0", "1", "11", "x", "10"],
    "share.partition.max.record.locks": ["99", "4001", "x", "100"],
    "share.renew.acknowledge.enable": ["yes", "", "TRUE", " false "],
    "share.assignment.interval.ms": ["-1", "15001", "0"],
    "share.isolation.level": ["READ_COMMITTED", "", "read_committed"],
    "share.auto.offset.reset": ["EARLIEST", "none", "by_duration:", "by_duration:-PT1H", "by_duration:PT1H"],
    "share.none.such": ["1"],
}
"""In turn; the last one that is allowed stays. Bounds that brokers of tests have lower are left out."""

Described = dict[str, tuple[str | None, int, int, list[str | None]]]


def alter(connection: RawConnection, group: str, key: str, operation: int, value: str | None) -> int:
    """Change one configuration; the error code."""
    resource = AlterConfigsResource(GROUP, group, [AlterableConfig(key, operation, value)])
    answer = connection.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        IncrementalAlterConfigsRequest([resource]),
        IncrementalAlterConfigsResponse,
    )
    return answer.responses[0].error_code


def described(connection: RawConnection, group: str) -> Described:
    """Value, source, type and names of synonyms, by key; what operators set differs between the two."""
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, group, None)], include_synonyms=True)
    [result] = connection.ask(ApiKey.DESCRIBE_CONFIGS, 4, request, DescribeConfigsResponse).results
    assert result.error_code == 0, result.error_message
    return {
        entry.name: (
            entry.value,
            entry.config_source,
            entry.config_type,
            [synonym.name for synonym in entry.synonyms if synonym.source != STATIC_BROKER_CONFIG],
        )
        for entry in result.configs
        if entry.name.startswith("share.") and entry.config_source != STATIC_BROKER_CONFIG
    }


def story(bootstrap_servers: str) -> tuple[list[tuple[str, int, str | None, int]], list[Described]]:
    """Set, and delete, everything of one group; what was answered, and what was described in between."""
    connection, group = RawConnection(bootstrap_servers), unique_name("group")
    changes: list[tuple[str, int, str | None]] = [
        (key, SET, value) for key, values in VALUES.items() for value in values
    ]
    changes += [("share.session.timeout.ms", operation, "1") for operation in (APPEND, SUBTRACT)]
    changes.append(("share.session.timeout.ms", SET, None))
    pictures = [described(connection, group)]
    answers = [(*change, alter(connection, group, *change)) for change in changes]
    pictures.append(described(connection, group))
    answers += [(key, DELETE, None, alter(connection, group, key, DELETE, None)) for key in VALUES]
    pictures.append(described(connection, group))
    connection.close()
    return answers, pictures


def test_each_key_takes_what_a_stock_broker_takes_and_is_described_as_there(
    share_endpoint: EndpointsOfSession,
) -> None:
    # When
    through_kproxy = story(share_endpoint(KPROXY_REFERENCE).bootstrap_servers)
    at_the_reference = story(share_endpoint(NATIVE).bootstrap_servers)

    # Then
    assert through_kproxy[0] == at_the_reference[0]
    for ours, theirs in zip(through_kproxy[1], at_the_reference[1], strict=True):
        assert {key: ours[key] for key in theirs} == theirs
    assert through_kproxy[1][1].keys() == VALUES.keys() - {"share.none.such"}
