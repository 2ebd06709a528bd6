"""The records of state topics as Kafka's own formatter prints them, made comparable."""

import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

from tests.kafka.share_state_differences import joined
from tests.real_kafka import administration
from tests.real_kafka.kproxy_process import STATE_TOPIC_PARTITIONS
from tests.real_kafka.tools import console_consumer

FORMATTER: Final = "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter"


def printed_records(topics: Sequence[tuple[str, str]], group: str) -> list[dict[int, list[Any]]]:
    """Per topic what Kafka's formatter prints of the records of `group`, by partition, but for what must differ."""
    with ExitStack() as running:
        tools = [
            running.enter_context(
                console_consumer(
                    bootstrap_servers,
                    topic,
                    max_messages=sum(
                        administration.end_offset(bootstrap_servers, topic, partition)
                        for partition in range(STATE_TOPIC_PARTITIONS)
                    ),
                    arguments=("--from-beginning", "--formatter", FORMATTER),
                )
            )
            for bootstrap_servers, topic in topics
        ]
        return [_by_partition("".join(tool.finish().lines), group) for tool in tools]


def _by_partition(printed: str, group: str) -> dict[int, list[Any]]:
    by_partition: dict[int, list[Any]] = defaultdict(list)
    for document in printed.replace("}{", "}\n{").splitlines():
        record = json.loads(document)
        key = record["key"]["data"]
        if key["groupId"] == group:
            by_partition[key["partition"]].append((record["key"]["type"], _comparable(record["value"])))
    return by_partition


def _comparable(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """A printed value without its timestamps and with equal neighbours joined."""
    if value is None:
        return None
    timestamps = {"createTimestamp", "writeTimestamp"}
    fields = {name: field for name, field in value["data"].items() if name not in timestamps}
    names = ("firstOffset", "lastOffset", "deliveryState", "deliveryCount")
    batches = tuple((*(batch[name] for name in names),) for batch in fields["stateBatches"])
    return {**fields, "stateBatches": joined(batches)}
