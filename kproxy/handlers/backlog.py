"""The port that tells how much of a topic-partition lies before a share group, and since when.

Only the brokers know both: nobody who serves records waits for it. `kproxy.net.reading.backlog_survey` implements it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kproxy.error_codes import ErrorCode
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.share.identifiers import TopicId
from kproxy.wire.record_times import RecordTime


@dataclass(frozen=True, slots=True)
class BacklogQuestion:
    """A topic-partition, and the first offset that is not done with; None asks for the end of the log alone.

    Of a group that reads committed records alone it is asked where those end.

    `topic_name` is None when only the id is known. Brokers before Kafka 3.1 cannot be asked by id.
    """

    topic_id: TopicId
    topic_name: str | None
    partition: int
    first_unfinished: int | None
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED


@dataclass(frozen=True, slots=True)
class Backlog:
    """What was learned of a topic-partition.

    `log_end_offset` is the high watermark, exclusive, as Kafka's share-partition lag counts from (KIP-1226).
    `last_stable_offset` is where a group goes no further that reads committed records: the first offset of a
    transaction that has not ended, or the end; None unless it was asked for, and if it is not known. `oldest` is of the
    first record at or above the offset asked about, None when there is none below the end. `reason` says in one
    sentence why something is not known, or is not what one would expect; empty otherwise. `error_code` is what clients
    are told when the end is not known.
    """

    log_end_offset: int | None
    oldest: RecordTime | None = None
    reason: str = ""
    error_code: ErrorCode = ErrorCode.NONE
    last_stable_offset: int | None = None


class Backlogs(Protocol):
    """Asks the partitions' leaders."""

    async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
        """Return an answer to each question, in order, within a bounded time. Raises nothing.

        No topic-partition is named twice.
        """
        ...
