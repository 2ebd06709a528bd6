"""The language of the cases: a `Play` gives topics, groups and members, and notes the answers that are compared."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, TypeVar

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from tests.conformance import preparation
from tests.conformance.member import Member, Topic
from tests.conformance.membership import Membership, settle
from tests.conformance.rendering import rendered
from tests.conformance.target import Target
from tests.real_kafka.node_settings import INTERNAL_TOPIC_PARTITIONS
from tests.real_kafka.raw_connection import CLIENT_ID, RawConnection

Answer = TypeVar("Answer", bound=Message)

API_VERSIONS_VERSION: Final = 3
LOCK_MS: Final = 60_000
"""The longest lock that may be configured: no case ends it by waiting."""
EARLIEST: Final = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)}


class TooSlow(Exception):
    """A play says that the machine was too slow for what it does within a time: its answers say nothing."""


@dataclass(slots=True)
class Noted:
    """One answer of a play: who asked for what, and what came."""

    asked: str
    answer: str
    reason: str = ""
    """Why it is not the same everywhere, where a case says so."""

    def __str__(self) -> str:
        return f"{self.asked}: {self.answer}"


class Group:
    """A share group of a case. Its share-partitions are loaded, and stay it while the founder's session is open."""

    def __init__(self, play: "Play", group_id: str, topics: tuple[Topic, ...], *, is_loaded: bool) -> None:
        self._play, self.group_id, self.topics = play, group_id, topics
        self._is_loaded = is_loaded
        self._member_numbers = itertools.count(1)
        self.founder = Membership(self.member("founder"), topics)
        """A member that was assigned every partition, so that all are initialized, and holds no record."""

    def member(self, member_id: str = "", *, connection: RawConnection | None = None) -> Member:
        """One more member; it sends no heartbeat by itself."""
        return self._play.member(
            self.group_id,
            self.topics,
            member_id=member_id or f"member-{next(self._member_numbers)}",
            connection=connection,
        )

    def configure(self, values: Mapping[str, str]) -> None:
        """Set configurations of it."""
        preparation.alter_group_configs(self._play.helper, self.group_id, values)

    def founder_joins(self) -> None:
        """Let the founder join, and open its session where share-partitions are to be loaded."""
        settle(self.founder, sizes=[sum(topic.partitions for topic in self.topics)], quiet_rounds=1)
        if self._is_loaded:
            self.founder.member.open_session(is_noted=False)

    def founder_leaves(self) -> None:
        """Let the founder leave and go; nothing of the group is loaded then, unless another member has a session."""
        self.founder.leave()
        self.founder.member.drop()

    def founder_returns(self) -> None:
        """Let the founder join again, on another connection; it fetches nothing, for there may be records."""
        self.founder = Membership(self.member("founder"), self.topics)
        self._is_loaded = False
        self.founder_joins()


class Play:
    """One case at one target, with topics and groups of its own."""

    def __init__(self, target: Target, label: str) -> None:
        self.target = target
        self.label = label
        self.notes: list[Noted] = []
        self._owned = ExitStack()
        self._names: dict[object, str] = {
            bytes(16): "zero-id",
            int(target.address().rpartition(":")[2]): "its-port",
        }
        self._numbers = itertools.count(1)
        self.helper = self.connection()
        """For whatever a case prepares."""

    # ---- what it is played with

    def connection(self, *, node_id: int = 1, client_id: str = CLIENT_ID) -> RawConnection:
        """One more connection to a broker."""
        return self._owned.enter_context(RawConnection(self.target.address(node_id), client_id=client_id))

    def connect_again(self) -> None:
        """Do what is prepared on another connection: the target was restarted."""
        self.helper = self.connection()

    def topic(
        self, partitions: int = 1, *, name: str = "", settings: Mapping[str, str] | None = None
    ) -> Topic:
        """A topic of its own, led by broker 1."""
        name = name or self.new_name("topic")
        topic = preparation.create_topic(self.helper, name, partitions=partitions, settings=settings)
        self._names[topic.topic_id] = f"id of {name}"
        return topic

    def new_name(self, what: str) -> str:
        """A name that no other play uses; the comparison shows the end of it, which is the same at every target."""
        return f"{self.label}-{what}-{next(self._numbers)}"

    def group(
        self, *topics: Topic, configs: Mapping[str, str] | None = None, is_loaded: bool = True
    ) -> Group:
        """A group whose share-partitions of these topics are initialized, and loaded unless that is left to the case.

        It begins with the earliest record, and its locks outlast the case, unless `configs` say otherwise.
        """
        group = Group(self, self.new_group_id(), topics, is_loaded=is_loaded)
        group.configure({**EARLIEST, **(configs or {})})
        group.founder_joins()
        return group

    def new_group_id(self) -> str:
        """A name for a group whose coordinator is broker 1."""
        while True:
            group_id = self.new_name("group")
            if preparation.find_coordinator(self.helper, group_id) == 1:
                return group_id

    def member(
        self,
        group_id: str,
        topics: tuple[Topic, ...],
        *,
        member_id: str,
        connection: RawConnection | None = None,
    ) -> Member:
        """A member of any group."""
        return Member(
            connection or self.connection(),
            group=group_id,
            topics=topics,
            member_id=member_id,
            note=self.note,
        )

    def produce(self, topic: Topic, *values: str, partition: int = 0, timestamp_ms: int | None = None) -> int:
        """Append one record batch; its first offset."""
        return preparation.produce(self.helper, topic, values, partition=partition, timestamp_ms=timestamp_ms)

    def produce_batches(self, topic: Topic, *sizes: int, partition: int = 0) -> None:
        """Append batches of so many records; values count from 0."""
        first = 0
        for size in sizes:
            self.produce(topic, *(f"{n}" for n in range(first, first + size)), partition=partition)
            first += size

    # ---- what is compared

    def ask(
        self, label: str, api_key: int, version: int, request: Message, answer_class: type[Answer]
    ) -> Answer:
        """Send any request and note its answer."""
        answer = self.helper.ask(api_key, version, request, answer_class)
        self.note(label, answer)
        return answer

    def note(self, asked: str, answer: Message) -> None:
        """Keep an answer for the comparison."""
        self.notes.append(Noted(self._bare(asked), self._bare(rendered(answer, self._names))))

    def say(self, what: str, fact: object) -> None:
        """Keep a fact for the comparison that is no answer of one request."""
        self.notes.append(Noted(what, self._bare(str(fact))))

    def as_kafka_4_4(self, reason: str) -> None:
        """The last answer is 4.4's at kproxy, and another at 4.3.1: the case itself says what each has to be."""
        self.notes[-1].reason = f"as Kafka 4.4: {reason}"

    def name_id(self, topic_id: bytes, name: str) -> None:
        """Show this id by name."""
        self._names[topic_id] = name

    def wait_until(self, is_so: Callable[[], bool], *, what: str) -> None:
        """Return when `is_so`."""
        self.target.wait_until(is_so, what=what)

    def _bare(self, text: str) -> str:
        """The text with the names that the case gave, without what makes them unique."""
        return text.replace(f"{self.label}-", "")

    def wait_for_end(self, topic: Topic, end_offset: int) -> None:
        """Return when the log of partition 0 ends with this offset: markers of transactions come late."""
        self.wait_until(
            lambda: preparation.end_offset(self.helper, topic) == end_offset,
            what=f"{topic.name} ends at {end_offset}",
        )

    def newest_version(self, api_key: int) -> int:
        """The newest version of an API that the target tells clients of."""
        request = ApiVersionsRequest(client_software_name="conformance", client_software_version="1")
        answer = self.helper.ask(ApiKey.API_VERSIONS, API_VERSIONS_VERSION, request, ApiVersionsResponse)
        return max(api.max_version for api in answer.api_keys if api.api_key == api_key)

    def state_record_keys(self) -> list[tuple[int, str]]:
        """Kind and group of every record in the topic that holds the state of share-partitions."""
        name = self.target.state_topic
        with RawConnection(self.target.cluster.broker_address(1)) as connection:
            topic = preparation.known_topic(connection, name, partitions=INTERNAL_TOPIC_PARTITIONS)
            keys = [
                record.key or b""
                for partition in range(topic.partitions)
                for record in preparation.first_records(connection, topic, partition=partition)
            ]
        return [(key[1], key[4 : 4 + int.from_bytes(key[2:4], "big")].decode()) for key in keys]

    def close(self) -> None:
        """Close every connection."""
        self._owned.close()
