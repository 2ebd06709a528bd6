"""What became of a batch that was to be appended to the state log, and what may be concluded from it."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kproxy.error_codes import ErrorCode

NOT_APPENDED: Final = -1

_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})

_REFUSED: Final = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
    }
)
"""What a leader says of a batch that it looked at and did not append; no later try would end otherwise.

Source: the exceptions of `LogValidator` and `UnifiedLog.append` that are raised before anything is written; Kafka's
`Sender.failBatch` takes sequence numbers back after them. A permission that is missing is not among them: it concerns
every append, so the slot is left until it can be claimed again, and people are told why it cannot.
"""

_NOT_YET: Final = frozenset({ErrorCode.NOT_ENOUGH_REPLICAS})
"""What a leader says before it appends anything, and what passes (`Partition.appendRecordsToLeader`)."""


class AppendFate(Enum):
    """What is known of a batch."""

    DURABLE = "durable"
    """It is in the log, at `base_offset`."""
    NOT_APPENDED = "not appended"
    """It is certainly not in the log, and may be as it is when it is sent again."""
    REFUSED = "refused"
    """It is certainly not in the log, and never will be."""
    FENCED = "fenced"
    """It is not in the log: somebody else claimed the partition."""
    UNKNOWN = "unknown"
    """It may be in the log, or get there later."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """What is known of a batch. `base_offset` is -1 unless `error_code` is NONE.

    NETWORK_EXCEPTION means that nobody knows: the connection ended, or the answer did not come in time. Without
    `was_sent` not a byte of the batch went out.
    """

    error_code: ErrorCode
    base_offset: int = NOT_APPENDED
    detail: str = ""
    was_sent: bool = True

    @property
    def fate(self) -> AppendFate:
        """What may be concluded."""
        if self.error_code is ErrorCode.NONE:
            return AppendFate.DURABLE
        if not self.was_sent or self.error_code in _NOT_YET:
            return AppendFate.NOT_APPENDED
        if self.error_code in _REFUSED:
            return AppendFate.REFUSED
        return AppendFate.FENCED if self.error_code in _FENCED else AppendFate.UNKNOWN


def not_sent(detail: str) -> AppendOutcome:
    """Return the outcome of a batch of which not a byte went out."""
    return AppendOutcome(ErrorCode.LEADER_NOT_AVAILABLE, detail=detail, was_sent=False)


def unknown(detail: str) -> AppendOutcome:
    """Return the outcome of a batch of which nobody knows."""
    return AppendOutcome(ErrorCode.NETWORK_EXCEPTION, detail=detail)
