"""Troubles of the state log: its topics are damaged, refuse writes, or are written by somebody else."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar, Final

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient

from kproxy.share.record_state import AcknowledgeType
from kproxy.wire.records import Record
from tests.in_memory.written_log import KEY, a_snapshot, a_tombstone
from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS, end_offset
from tests.real_kafka.kproxy_fleet import group_in_slot
from tests.real_kafka.kproxy_process import STATE_TOPIC_PARTITIONS, KproxyPorts, KproxyProcess
from tests.troubles.ground import acquired
from tests.troubles.trouble import CHECK_FAILED, Told, Trouble, says
from tests.troubles.wall import Wall

WHILE_RESTARTED: Final = frozenset({"KproxyDown"})


class OfTheStateLog(Trouble):
    """A kproxy with state topics of its own, and one that takes its place at the same ports."""

    beside: ClassVar[frozenset[str]] = WHILE_RESTARTED
    wall: Wall | None = None

    def prepare(self) -> Sequence[KproxyProcess]:
        self.settings = {**self.ground.settings_of_a_fleet(), **self.more_settings()}
        self.ports = self.stack.enter_context(KproxyPorts())
        self.asked = self.run()
        return [self.asked]

    def more_settings(self) -> Mapping[str, str | int]:
        """What its kproxy is told beside where its topics are."""
        return {}

    def run(self, *, is_ready: bool = True) -> KproxyProcess:
        """Start a kproxy at these ports."""
        (kproxy,) = self.ground.start(
            dict(self.settings), 1, self.stack, ports=self.ports, is_ready=is_ready, wall=self.wall
        )
        return kproxy

    def restart(self) -> None:
        """Let another kproxy take the place of the one that ran; it need not become ready."""
        self.asked.drain()
        self.strike_between()
        self.asked = self.run(is_ready=False)

    def strike_between(self) -> None:
        """Do something to the state log while nobody serves."""

    @property
    def state_topic(self) -> str:
        return str(self.settings["kproxy.state.topic.name"])

    @property
    def groups_topic(self) -> str:
        return str(self.settings["kproxy.groups.topic.name"])

    def write(self, topic: str, partition: int, *records: Record) -> None:
        """Append records as somebody who is no kproxy."""
        producer = Producer({"bootstrap.servers": self.ground.cluster.bootstrap_servers})
        for record in records:
            producer.produce(topic, record.value, record.key, partition, headers=list(record.headers))
            producer.poll(0)
        assert producer.flush(ANSWER_TIMEOUT_SECONDS) == 0


class StateLost(OfTheStateLog):
    """Somebody deletes all records of the state topic, and kproxy is restarted."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("ready"),
        "kproxy log stats -b broker1:9092": says("KproxyClaim=1,ShareSnapshot=1"),
        "kproxy groups describe --all-groups": says("{GROUP}", "{TOPIC}"),
    }

    def strike(self) -> None:
        topic = self.ground.topic(5)
        group = self.ground.group(self.asked)
        self.names |= {"GROUP": group, "TOPIC": topic}
        member = self.ground.member(self.asked, group, topic, self.stack)
        acquired(member)
        assert member.acknowledge(0, 2, AcknowledgeType.ACCEPT.value) == 0
        member.leave_group()
        self.restart()
        self.asked.wait_until_ready()

    def strike_between(self) -> None:
        brokers = self.ground.cluster.bootstrap_servers
        whole = [
            TopicPartition(self.state_topic, partition, end_offset(brokers, self.state_topic, partition))
            for partition in range(STATE_TOPIC_PARTITIONS)
        ]
        admin = AdminClient({"bootstrap.servers": brokers})
        for answer in admin.delete_records(whole).values():
            answer.result(ANSWER_TIMEOUT_SECONDS)


class SlotStopped(OfTheStateLog):
    """A record of the state topic is damaged, and kproxy is restarted."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says(
            "fleet.troubledSlots", "{SLOT}          stopped", "offset {OFFSET}", exit_code=CHECK_FAILED
        ),
        "kproxy log stats -b broker1:9092": says("Undecodable=1", exit_code=6),
        "kproxy log dump -b broker1:9092 --log-partition SLOT --from-offset OFFSET --max-records 5": says(
            "cannot be decoded", exit_code=6
        ),
    }
    SLOT: Final = 1

    def strike(self) -> None:
        self.names["SLOT"] = f"{self.SLOT}"
        self.restart()

    def strike_between(self) -> None:
        end = end_offset(self.ground.cluster.bootstrap_servers, self.state_topic, self.SLOT)
        self.names["OFFSET"] = f"{end}"
        whole = a_snapshot()
        assert whole.value is not None
        self.write(
            self.state_topic, self.SLOT, Record(whole.key, bytes(whole.value[:4]), headers=whole.headers)
        )


class StateLogUnavailable(OfTheStateLog):
    """Somebody takes the right to write to the topics away, and kproxy is restarted."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says(
            "not-ready", "may not write to", "allow it Write on that topic", exit_code=CHECK_FAILED
        ),
        "kproxy doctor -b broker1:9092": says("may not do Write on topic", exit_code=CHECK_FAILED),
        "kproxy brokers": says("127.0.0.1"),
    }

    def strike(self) -> None:
        self.restart()

    def strike_between(self) -> None:
        for topic in (self.state_topic, self.groups_topic):
            self.ground.deny(topic, AclOperation.WRITE)


class SlotsWithoutOwner(StateLogUnavailable):
    """The same: while nobody can claim a slot, nobody serves its groups."""

    beside: ClassVar[frozenset[str]] = WHILE_RESTARTED | {"KproxyStateLogUnavailable"}
    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("fleet.troubledSlots", "claiming", "allow it Write", exit_code=CHECK_FAILED),
        "kproxy brokers": says("127.0.0.1"),
    }


class StateLogRebuilt(OfTheStateLog):
    """Somebody else writes to the state topic, again and again."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("ready"),
        "kproxy brokers": says("127.0.0.1"),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxyStateLost"})
    TIMES: Final = 5
    SLOT: Final = 2

    def strike(self) -> None:
        topic = self.ground.topic(1)
        for number in range(1, self.TIMES + 1):
            self.write(self.state_topic, self.SLOT, a_tombstone())
            # What its initialization writes lands behind that.
            group = self.ground.group(self.asked, name=group_in_slot(self.SLOT))
            with suppress(AssertionError):
                self.ground.member(self.asked, group, topic, self.stack)
            self.asked.wait_until(partial(self._is_rebuilt, number))

    def _is_rebuilt(self, times: int) -> bool:
        return self.asked.metrics().total("kproxy_statelog_rebuilds_total") >= times


class AppendsSlow(Trouble):
    """Whatever the broker answers arrives more than a second later."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy brokers": says("127.81.0.1"),
        "kproxy doctor -b broker1:9092": says("warning  login: a broker answers in plaintext, in 1"),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxyStateLogUnavailable"})
    DELAY_SECONDS: Final = 1.3
    ROUNDS: Final = 3

    def prepare(self) -> Sequence[KproxyProcess]:
        self.wall = self.ground.wall(self.stack)
        kproxies = self.start({}, wall=self.wall)
        self.names["broker1:9092"] = self.wall.address
        return kproxies

    def strike(self) -> None:
        topic = self.ground.topic(self.ROUNDS)
        group = self.ground.group(self.asked)
        member = self.ground.member(self.asked, group, topic, self.stack)
        acquired(member)
        self.wall.delay_seconds = self.DELAY_SECONDS
        self.stack.callback(self._hurry)
        for offset in range(self.ROUNDS):
            assert member.acknowledge(offset, offset, AcknowledgeType.ACCEPT.value) == 0

    def _hurry(self) -> None:
        self.wall.delay_seconds = 0.0


class LoadingSlow(OfTheStateLog):
    """A slot has much to be read, the way from the broker is slow, and kproxy is restarted."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy log stats -b broker1:9092": says("ShareSnapshot={RECORDS}"),
        "kproxy status": says("ready"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_RESTARTED | {"KproxyStateLogUnavailable"}
    SLOT: Final = 1
    RECORDS: Final = 18_000
    DELAY_SECONDS: Final = 0.5
    """Of 64 KiB."""
    LOADED_SECONDS: Final = 150.0

    def prepare(self) -> Sequence[KproxyProcess]:
        self.wall = self.ground.wall(self.stack)
        self.names["RECORDS"] = f"{self.RECORDS}"
        return super().prepare()

    def strike(self) -> None:
        self.restart()
        self.asked.wait_until_ready(timeout_seconds=self.LOADED_SECONDS)

    def strike_between(self) -> None:
        keys = (KEY._replace(partition=number) for number in range(self.RECORDS))
        self.write(self.state_topic, self.SLOT, *map(a_snapshot, keys))
        assert self.wall is not None
        self.wall.delay_seconds = self.DELAY_SECONDS


class PruningFails(OfTheStateLog):
    """Somebody takes the right to delete from the state topic away."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy doctor -b broker1:9092": says("may not do Delete on topic"),
        "kproxy log stats -b broker1:9092": says("ShareSnapshot"),
    }
    OFTEN_MS: Final = 500

    def more_settings(self) -> Mapping[str, str | int]:
        return {
            "kproxy.state.history.ms": 0,
            "share.coordinator.state.topic.prune.interval.ms": self.OFTEN_MS,
            "share.coordinator.cold.partition.snapshot.interval.ms": self.OFTEN_MS,
        }

    def strike(self) -> None:
        self.ground.deny(self.state_topic, AclOperation.DELETE)
        group = self.ground.group(self.asked)
        acquired(self.ground.member(self.asked, group, self.ground.topic(1), self.stack))
