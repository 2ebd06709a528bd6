"""Troubles of share groups: what members do, and what they do not do."""

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kproxy.share.record_state import AcknowledgeType
from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS, unique_name
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_members import ConfluentShareMember
from tests.troubles.ground import acquired
from tests.troubles.trouble import Told, Trouble, says

ACCEPT: Final = AcknowledgeType.ACCEPT.value
RELEASE: Final = AcknowledgeType.RELEASE.value
SMALL_WINDOW: Final = 100
ROUND_SECONDS: Final = 1.1
"""So long between two deliveries of the same records, so that no scrape sees two at once."""


class OfAGroup(Trouble):
    """A group with records in one partition, asked about at the process of its fleet that does not serve it."""

    def place(self, group: str, topic: str, *, offset: int = 0) -> None:
        """Say where the trouble is, for the commands and for the alert."""
        self.labels = {"group": group}
        self.names |= {"GROUP": group, "TOPIC": topic, "PARTITION": "0", "OFFSET": f"{offset}"}
        self.names["kproxy:19092"] = self.asked.bootstrap_servers

    def served_elsewhere(self, settings: dict[str, str] | None = None) -> tuple[str, KproxyProcess]:
        """Return a new group, and the process that serves it, which is not the one that is asked."""
        owner = next(kproxy for kproxy in self.fleet.kproxies if kproxy is not self.asked)
        return self.ground.group(owner, settings, name=self.fleet.new_group_of(owner)), owner


class GroupBehind(OfAGroup):
    """A member accepted the first of three old records, and left."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy why -g GROUP": says("{GROUP} is Empty", "lag 2", "the group has no members"),
        "kproxy groups describe GROUP": says("{GROUP}", "{TOPIC}"),
        "kproxy top --sort pain --count 1": says("{GROUP}"),
    }

    def prepare(self) -> Sequence[KproxyProcess]:
        # Others would find it behind, too: how old records are is looked at every ten seconds.
        return self.start({}, count=2)

    def strike(self) -> None:
        topic = self.ground.topic(3, minutes_old=20)
        group, owner = self.served_elsewhere()
        self.place(group, topic)
        member = self.ground.member(owner, group, topic, self.stack)
        acquired(member)
        assert member.acknowledge(0, 0, ACCEPT) == 0
        member.leave_group()


class GroupStandsStill(OfAGroup):
    """A member took ten records, sends heartbeats, and does nothing else."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy why -g GROUP": says("{GROUP} is Stable: 1 member, lag 10", "{MEMBER}", "holds offset"),
        "kproxy in-flight list -g GROUP": says("{GROUP}", "{TOPIC}", "{MEMBER}"),
        "kproxy sessions list -g GROUP": says("{GROUP}", "{MEMBER}"),
    }
    remedies: ClassVar[Mapping[str, Told]] = {
        'kproxy sessions end -g GROUP -m MEMBER --execute --reason "it hangs"': says("{MEMBER}"),
    }

    def strike(self) -> None:
        topic = self.ground.topic(10)
        group, owner = self.served_elsewhere()
        self.place(group, topic)
        member = self.stack.enter_context(
            ConfluentShareMember(owner.bootstrap_servers, group=group, topics=[topic])
        )
        self.stack.callback(member.kill)
        member.poll_until_records()
        (only,) = owner.group_item(group)["members"]
        self.names["MEMBER"] = only["memberId"]


class GroupReleasesEverything(OfAGroup):
    """A member fails at the first record, and releases all that it gets."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy why -g GROUP": says("{GROUP} is Stable: 1 member, lag 10", "attempt 4 of 5"),
        "kproxy in-flight list -g GROUP": says("GROUP"),
        "kproxy sessions list -g GROUP": says("{GROUP}", "worker-1"),
    }
    remedies: ClassVar[Mapping[str, Told]] = {
        'kproxy in-flight archive -g GROUP -t TOPIC -p PARTITION OFFSET --execute --reason "cannot be read"': says(
            "{TOPIC}", "Archived"
        ),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxyRecordsComeAgain"})

    def strike(self) -> None:
        topic = self.ground.topic(10)
        group, owner = self.served_elsewhere()
        self.place(group, topic)
        member = self.ground.member(owner, group, topic, self.stack)
        for _ in range(3):
            for first, last, _ in acquired(member):
                assert member.acknowledge(first, last, RELEASE) == 0


class WindowFull(OfAGroup):
    """A member holds the first record and accepts all behind it, as far as its window goes."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy why -g GROUP": says("{GROUP} is Stable", "worker-1", "holds offset 0"),
        "kproxy in-flight window -g GROUP -t TOPIC -p PARTITION": says("worker-1"),
    }
    remedies: ClassVar[Mapping[str, Told]] = {
        "kproxy groups configs GROUP -b kproxy:19092 --set share.partition.max.record.locks=4000 --execute": says(
            "share.partition.max.record.locks", "4000"
        ),
    }

    def strike(self) -> None:
        topic = self.ground.topic(2 * SMALL_WINDOW)
        group, owner = self.served_elsewhere({"share.partition.max.record.locks": f"{SMALL_WINDOW}"})
        self.place(group, topic)
        member = self.ground.member(owner, group, topic, self.stack)
        last = 0
        while last < SMALL_WINDOW - 1:
            last = max(last_offset for _, last_offset, _ in acquired(member))
            assert member.acknowledge(1, last, ACCEPT) == 0


class RecordsComeAgain(OfAGroup):
    """A member releases everything that it gets, again and again."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy in-flight list -g GROUP --deliveries 2": says("{GROUP}", "{TOPIC}"),
        "kproxy sessions list -g GROUP": says("worker-1"),
        "kproxy log stuck -b broker1:9092 -g GROUP": says("{GROUP}", "{TOPIC}"),
    }
    remedies: ClassVar[Mapping[str, Told]] = {
        "kproxy log audit -b broker1:9092 -g GROUP -t TOPIC -p PARTITION --offset OFFSET -o wide": says(
            "worker-1", "release"
        ),
        "kproxy groups configs GROUP -b kproxy:19092 --set share.record.lock.duration.ms=60000 --execute": says(
            "share.record.lock.duration.ms", "60000"
        ),
    }

    def strike(self) -> None:
        topic = self.ground.topic(20)
        group, owner = self.served_elsewhere({"share.delivery.count.limit": "10"})
        self.place(group, topic)
        member = self.ground.member(owner, group, topic, self.stack)
        for _ in range(5):
            for first, last, _ in acquired(member):
                assert member.acknowledge(first, last, RELEASE) == 0
            time.sleep(ROUND_SECONDS)
        acquired(member)


class RecordsGivenUpAtTheLimit(OfAGroup):
    """A member releases what it gets until the delivery limit."""

    beside: ClassVar[frozenset[str]] = frozenset({"KproxyRecordsComeAgain"})
    told: ClassVar[Mapping[str, Told]] = {
        "kproxy in-flight finished -b broker1:9092 --ended-by delivery-limit --ended-by log-start": says(
            "{GROUP}", "{TOPIC}", "worker-1"
        ),
        "kproxy log audit -b broker1:9092 -g GROUP -t TOPIC -p PARTITION --offset OFFSET -o wide": says(
            "worker-1", "release", "limit"
        ),
    }

    def strike(self) -> None:
        topic = self.ground.topic(3)
        group, owner = self.served_elsewhere({"share.delivery.count.limit": "2"})
        self.place(group, topic)
        self.labels = {"reason": "delivery_limit"}
        member = self.ground.member(owner, group, topic, self.stack)
        for _ in range(2):
            for first, last, _ in acquired(member):
                assert member.acknowledge(first, last, RELEASE) == 0


class RecordsGivenUpByKafka(OfAGroup):
    """Records that a member had released are deleted before anybody accepted them."""

    beside: ClassVar[frozenset[str]] = frozenset({"KproxyRecordsComeAgain"})
    told: ClassVar[Mapping[str, Told]] = {
        "kproxy in-flight finished -b broker1:9092 --ended-by delivery-limit --ended-by log-start": says(
            "{GROUP}", "{TOPIC}"
        ),
        "kproxy log audit -b broker1:9092 -g GROUP -t TOPIC -p PARTITION --offset OFFSET -o wide": says(
            "worker-1"
        ),
    }

    def strike(self) -> None:
        topic = self.ground.topic(10)
        group, owner = self.served_elsewhere()
        self.place(group, topic)
        self.labels = {"reason": "log_start"}
        member = self.ground.member(owner, group, topic, self.stack)
        for first, last, _ in acquired(member):
            assert member.acknowledge(first, last, RELEASE) == 0
        admin = AdminClient({"bootstrap.servers": self.ground.cluster.bootstrap_servers})
        for answer in admin.delete_records([TopicPartition(topic, 0, 5)]).values():
            answer.result(ANSWER_TIMEOUT_SECONDS)
        acquired(member)


class MetricsCutOff(Trouble):
    """More groups fetched than a metric may have series."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy groups list -o name": says("{GROUP}"),
        "kproxy config show --origin": says("kproxy.metrics.max.series"),
    }
    SERIES: Final = 40
    GROUPS: Final = 12

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({"kproxy.metrics.max.series": self.SERIES})

    def strike(self) -> None:
        topic = self.ground.topic(1)
        for _ in range(self.GROUPS):
            group = self.ground.group(self.asked)
            acquired(
                self.ground.member(self.asked, group, topic, self.stack, member_id=unique_name("worker"))
            )
            self.names["GROUP"] = group
        self.labels = {"metric": "share_group_records"}
