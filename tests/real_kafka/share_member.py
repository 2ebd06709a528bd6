"""One member of a share group in a process of its own, scripted step by step; the same for every client.

The process reads commands from its standard input and answers with JSON objects, one a line. Each command
gets exactly one closing answer; what happens on the way comes before it:

| command | on the way | closing answer |
|---|---|---|
| `poll MS` | `record` (topic, partition, offset, key, value, delivery_count) | `polled` (count) |
| `ack TYPE TOPIC PARTITION OFFSET,OFFSET…` | | `acknowledged` (count) |
| `ackall TYPE`: all records not acknowledged yet | | `acknowledged` (count) |
| `commit MS` | | `committed` (partitions: topic, partition, error) |
| `commit-async` | | `commit_started` |
| `subscribe TOPIC,TOPIC…` | | `subscribed` |
| `close MS` | | `closed`, then the process ends |

`answered` (topic, partition, offsets, error) may stand on the way of any command: the client's
acknowledgement commit callback. `error` (error, message) closes a command that failed; the member goes on.
`ready` opens. Errors are named as the protocol names them where it does, else by the client's exception.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final

from tests.real_kafka.child import Child, ChildTimedOut

START_TIMEOUT_SECONDS: Final = 60.0
ANSWER_SLACK_SECONDS: Final = 30.0
"""How much later than the timeout of a command its answer may come."""
CLOSE_TIMEOUT_MS: Final = 5_000
WAY_EVENTS: Final = frozenset({"record", "answered"})


class AcknowledgeType(StrEnum):
    """What a member says about a record it holds (KIP-932, "Acknowledge"; RENEW: KIP-1222)."""

    ACCEPT = "ACCEPT"
    RELEASE = "RELEASE"
    REJECT = "REJECT"
    RENEW = "RENEW"


@dataclass(frozen=True, slots=True)
class ReceivedRecord:
    """A record that a poll delivered."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: str | None
    delivery_count: int
    """1 at the first delivery."""


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What a commit said of one partition; `error` is None for success."""

    topic: str
    partition: int
    error: str | None


@dataclass(frozen=True, slots=True)
class AnsweredAcknowledgements:
    """What the acknowledgement commit callback was told of one partition's records; `error` None: done."""

    topic: str
    partition: int
    offsets: tuple[int, ...]
    error: str | None


class MemberError(RuntimeError):
    """A command failed in the client. `error` is its name; the member goes on."""

    def __init__(self, command: str, error: str, message: str) -> None:
        super().__init__(f"{command!r} failed: {error}: {message}")
        self.error = error


class ShareMember(Child):
    """A share consumer in explicit acknowledgement mode. Made by its subclasses, one for each client."""

    supports_renew: ClassVar[bool]

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        super().__init__(name, command)
        self.answered: list[AnsweredAcknowledgements] = []
        """Everything that the commit callback was told, in order."""
        self.held: dict[tuple[str, int, int], ReceivedRecord] = {}
        """Records of the last poll that are not acknowledged yet, by topic, partition and offset."""
        self._polled: list[ReceivedRecord] = []
        self._is_ready = False

    def wait_until_ready(self) -> None:
        """Return when the process has made its client; every command waits for that, not the constructor."""
        if not self._is_ready:
            self._closing_answer(START_TIMEOUT_SECONDS)
            self._is_ready = True

    def poll(self, *, timeout_ms: int = 500) -> list[ReceivedRecord]:
        """The records of one poll. Those of the last one have to be acknowledged before."""
        self._polled = []
        self._obey(f"poll {timeout_ms}", timeout_ms)
        for record in self._polled:
            self.held[_id(record)] = record
        return self._polled

    def poll_until_records(self, *, timeout_ms: int = 30_000) -> list[ReceivedRecord]:
        """The records of the first poll that has any; raises `ChildTimedOut` when none has in time.

        Its time begins when the client is there.
        """
        self.wait_until_ready()
        deadline = time.monotonic() + timeout_ms / 1000
        while time.monotonic() < deadline:
            if records := self.poll():
                return records
        raise ChildTimedOut(f"{self.name} polled no record in {timeout_ms} ms: {self.errors()}")

    def acknowledge(self, records: Iterable[ReceivedRecord], how: AcknowledgeType) -> None:
        """Say `how` of records; it is sent with the next poll or commit."""
        offsets = defaultdict(list)
        for record in records:
            offsets[record.topic, record.partition].append(record.offset)
            self.held.pop(_id(record), None)
        for (topic, partition), of_partition in offsets.items():
            self._obey(f"ack {how} {topic} {partition} {','.join(map(str, of_partition))}", 0)

    def acknowledge_all(self, how: AcknowledgeType) -> int:
        """Say `how` of every record not acknowledged yet; how many there were."""
        self.held.clear()
        return int(self._obey(f"ackall {how}", 0)["count"])

    def commit(self, *, timeout_ms: int = 10_000) -> list[CommitOutcome]:
        """Send the acknowledgements and wait for what the broker says of each partition."""
        answer = self._obey(f"commit {timeout_ms}", timeout_ms)
        return [CommitOutcome(**outcome) for outcome in answer["partitions"]]

    def commit_async(self) -> None:
        """Send the acknowledgements; what the broker says comes to `answered` with a later command."""
        self._obey("commit-async", 0)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Consume these topics instead of those so far."""
        self._obey(f"subscribe {','.join(topics)}", 0)

    def close(self, *, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """Commit what is acknowledged, let go of what is held, leave the group, and end the process.

        Raises `MemberError` when the client says that closing failed; the process has ended then as well.
        """
        try:
            self._obey(f"close {timeout_ms}", timeout_ms)
            self.wait(timeout_seconds=ANSWER_SLACK_SECONDS)
        finally:
            self.kill()

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close, unless it has ended already or something failed: then kill."""
        if error is None and self.is_running:
            self.close()
        else:
            self.kill()

    def _obey(self, command: str, timeout_ms: int) -> dict[str, Any]:
        self.wait_until_ready()
        self.send_line(command)
        answer = self._closing_answer(timeout_ms / 1000 + ANSWER_SLACK_SECONDS)
        if answer["event"] == "error":
            raise MemberError(command, answer["error"], answer["message"])
        return answer

    def _closing_answer(self, timeout_seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_seconds
        while True:
            answer: dict[str, Any] = json.loads(self.next_line(timeout_seconds=deadline - time.monotonic()))
            if answer["event"] not in WAY_EVENTS:
                return answer
            self._note(answer)

    def _note(self, answer: dict[str, Any]) -> None:
        event = answer.pop("event")
        if event == "record":
            self._polled.append(ReceivedRecord(**answer))
        else:
            answer["offsets"] = tuple(answer["offsets"])
            self.answered.append(AnsweredAcknowledgements(**answer))


def _id(record: ReceivedRecord) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset
