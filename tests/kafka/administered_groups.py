"""Groups of every kind at an endpoint, and what is told of them: in the same words wherever that is."""

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.kafka.test_group_ids import commit
from tests.real_kafka.administration import unique_name
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, NATIVE, EndpointsOfSession, ShareEndpoint

BOTH: Final = (NATIVE, KPROXY_REFERENCE)
PARTITIONS: Final = 2
MEMBER: Final = "raw-member"
PATIENCE_SECONDS: Final = 30.0
"""Until a member is assigned its partitions: a stock broker initializes them in the background."""


class Groups:
    """Groups of every kind at one endpoint: share groups with a member and without, and a consumer group.

    What is told of them is written with the names that they have here, whatever they are called there.
    """

    def __init__(self, endpoint: ShareEndpoint) -> None:
        self.endpoint = endpoint
        self.address = endpoint.bootstrap_servers
        self.topic = endpoint.new_topic(partitions=PARTITIONS)
        self.names = {label: unique_name(label) for label in ("busy", "left", "plain", "nobody")}
        commit(self.address, group=self.names["plain"], topic=self.topic)
        for label in ("busy", "left"):
            self.join(label)
        self.heartbeat("left", -1)

    def join(self, label: str) -> ShareGroupHeartbeatResponse:
        """Let the member join, and stay until it is assigned all there is."""
        answer = self.heartbeat(label, 0, [self.topic])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _assigned_count(answer):
            assert time.monotonic() < deadline, f"nothing was assigned: {answer}"
            time.sleep(0.1)
            answer = self.heartbeat(label, 0, [self.topic])
        return answer

    def heartbeat(
        self, label: str, member_epoch: int, topics: list[str] | None = None
    ) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(
            group_id=self.names[label],
            member_id=MEMBER,
            member_epoch=member_epoch,
            subscribed_topic_names=topics,
        )
        with RawConnection(self.address) as connection:
            return connection.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, ShareGroupHeartbeatResponse)

    def ask(self, api_key: int, version: int, message: Message) -> object:
        """The answer as it would be if the groups had their names here, in no order, without what may differ."""
        with RawConnection(self.address) as connection:
            return self.labelled(_plain(connection.ask(api_key, version, message, Message)))

    def labelled(self, told: Any) -> Any:
        """`told` with the names that groups and topics have here, and nothing of other tests' groups."""
        if isinstance(told, dict):
            return {key: self.labelled(value) for key, value in told.items()}
        if isinstance(told, list):
            return sorted((self.labelled(each) for each in told if not self._is_foreign(each)), key=repr)
        return self.relabelled(told) if isinstance(told, str) else told

    def relabelled(self, text: str) -> str:
        """The same of words."""
        for label, name in {**self.names, "topic": self.topic}.items():
            text = text.replace(name, label)
        return text

    def _is_foreign(self, element: Any) -> bool:
        return isinstance(element, dict) and element.get("group_id", "") not in {"", *self.names.values()}


def _assigned_count(answer: ShareGroupHeartbeatResponse) -> int:
    if answer.assignment is None:
        return 0
    return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions)


NOT_COMPARED: Final = frozenset(
    {
        "unknown_tagged_fields",
        "throttle_time_ms",
        "topic_id",
        "group_epoch",
        "assignment_epoch",
        "member_epoch",
    }
)
"""Ids and times; epochs, because a stock broker makes another assignment when it has initialized share-partitions."""


def _plain(value: Any) -> Any:
    """A message as dictionaries and lists."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if hasattr(value, "SCHEMA"):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in fields(value)
            if field.name not in NOT_COMPARED
        }
    return int(value) if isinstance(value, ErrorCode) else value


def on_both(
    share_endpoint: EndpointsOfSession, scenario: Callable[[Groups], object]
) -> tuple[object, object]:
    """What a stock broker tells, and what kproxy does."""
    stock, through_kproxy = (scenario(Groups(share_endpoint(behind))) for behind in BOTH)
    return stock, through_kproxy
