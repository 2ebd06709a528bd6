"""A share group member that accepts all it gets, and writes down what was answered before it asks for more.

The member is a process of its own, which outlives whatever it is connected to.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from tests.real_kafka.child import ChildEnded, ChildTimedOut
from tests.real_kafka.share_member import AcknowledgeType, MemberError, ShareMember

POLL_TIMEOUT_MS: Final = 200
COMMIT_TIMEOUT_MS: Final = 5_000
ERRORS_IN_A_ROW: Final = 40
"""After that many the member is taken for lost, and started anew, unless told otherwise."""
PAUSE_SECONDS: Final = 0.1

StartMember: TypeAlias = Callable[[Sequence[str]], ShareMember]
RecordId: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of a journal: an acceptance that was answered without an error."""

    at: float
    """In seconds of `time.monotonic`."""
    record: RecordId


@dataclass(frozen=True, slots=True)
class Receipt:
    """A record that a poll gave; the times are the beginning and the end of the poll, as in `Answer`."""

    asked_at: float
    got_at: float
    record: RecordId
    member: str = "a member"


class Accepter:
    """A member and the thread that drives it, from `__enter__` to `__exit__`.

    Half of its acceptances travel alone, with a commit, and half with the next poll. After `errors_in_a_row` the member
    is taken for lost.
    """

    def __init__(
        self,
        start_member: StartMember,
        topics: Sequence[str],
        journal: Path,
        *,
        errors_in_a_row: int = ERRORS_IN_A_ROW,
    ) -> None:
        self.received: list[Receipt] = []
        """What was polled."""
        self.answered_at: list[float] = []
        """When acceptances were answered, in order; those of one request at the same time."""
        self.tried: set[RecordId] = set()
        """What was accepted, whatever came of it."""
        self.errors: Counter[str] = Counter()
        """Errors of commands and of acceptances, by name."""
        self.restarts: list[str] = []
        """Why the member had to be started anew, each time."""
        self._start_member = start_member
        self._topics = tuple(topics)
        self._subscribed = self._topics
        self._journal = journal.open("a", encoding="utf-8")
        self._journal_path = journal
        self._is_over = threading.Event()
        self._errors_in_a_row = 0
        self._most_errors = errors_in_a_row
        self._thread = threading.Thread(target=self._run, name="accepter")
        self._failure: BaseException | None = None

    def subscribe(self, topics: Sequence[str]) -> None:
        """Consume these topics from the next poll on."""
        self._topics = tuple(topics)

    def answers(self) -> list[Answer]:
        """What the journal says, in its order."""
        lines = self._journal_path.read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines]
        return [Answer(at, (topic, partition, offset)) for at, topic, partition, offset in entries]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._journal.close()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._live()
        except BaseException as failure:  # noqa: BLE001 - raised again where the block ends
            self._failure = failure

    def _live(self) -> None:
        """Drive one member until it is lost or all is over."""
        member = self._start_member(self._topics)
        self._subscribed, self._errors_in_a_row = self._topics, 0
        try:
            self._drive(member)
        except (ChildEnded, ChildTimedOut) as lost:
            self.restarts.append(str(lost)[:500])
        finally:
            self._write_down(member)
            member.kill()

    def _drive(self, member: ShareMember) -> None:
        member.wait_until_ready()
        turn = 0
        while not self._is_over.is_set():
            turn += 1
            try:
                self._turn(member, commits=turn % 2 == 0)
                self._errors_in_a_row = 0
            except MemberError as error:
                self._bear(error)
            self._write_down(member)

    def _bear(self, error: MemberError) -> None:
        self.errors[error.error] += 1
        self._errors_in_a_row += 1
        if self._errors_in_a_row >= self._most_errors:
            raise ChildEnded(f"nothing but errors: {error}")
        self._is_over.wait(PAUSE_SECONDS)

    def _turn(self, member: ShareMember, *, commits: bool) -> None:
        if self._subscribed != self._topics:
            member.subscribe(self._topics)
            self._subscribed = self._topics
        asked_at = time.monotonic()
        records = member.poll(timeout_ms=POLL_TIMEOUT_MS)
        if not records:
            return
        ids = [(record.topic, record.partition, record.offset) for record in records]
        got_at = time.monotonic()
        name = self._journal_path.name
        self.received += [Receipt(asked_at, got_at, record_id, name) for record_id in ids]
        self.tried.update(ids)
        self._accept_all(member)
        if commits:
            member.commit(timeout_ms=COMMIT_TIMEOUT_MS)

    def _accept_all(self, member: ShareMember) -> None:
        """Accept one by one what cannot be accepted in one go: a member may have let go of some meanwhile."""
        held = list(member.held.values())
        try:
            member.acknowledge_all(AcknowledgeType.ACCEPT)
        except MemberError as error:
            self.errors[f"ack {error.error}"] += 1
            for record in held:
                try:
                    member.acknowledge([record], AcknowledgeType.ACCEPT)
                except MemberError as single:
                    self.errors[f"ack {single.error}"] += 1

    def _write_down(self, member: ShareMember) -> None:
        now = time.monotonic()
        for answered in member.answered:
            if answered.error is not None:
                self.errors[f"answer {answered.error}"] += 1
                continue
            self.answered_at.append(now)
            for offset in answered.offsets:
                line: Sequence[float | str | int] = (now, answered.topic, answered.partition, offset)
                self._journal.write(json.dumps(line) + "\n")
        self._journal.flush()
        member.answered.clear()


QUICK_CLIENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "confluent": {"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "100", "retry.backoff.ms": "20"},
    "java": {"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "100", "retry.backoff.ms": "20"},
}
"""Settings under which a client is back soon, by client."""
