"""The states of an in-flight record, what may follow each, and what an acknowledgement asks for."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class RecordState(IntEnum):
    """The state of a record between start offset and end offset; the numbers are those of the state log.

    ARCHIVING says that a dead letter is being written, after which the record is ARCHIVED even if that failed
    (KIP-1191). Kafka 4.4 writes it; kproxy has no dead letters and only reads it, from a copied log or an operator's
    write: whoever loads such a record takes it as ARCHIVED.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


class AcknowledgeType(IntEnum):
    """What a member says of a record that it acquired; the numbers are those of the wire."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


PERMITTED_TRANSITIONS: Final[Mapping[RecordState, frozenset[RecordState]]] = MappingProxyType(
    {
        RecordState.AVAILABLE: frozenset({RecordState.ACQUIRED, RecordState.ARCHIVED}),
        RecordState.ACQUIRED: frozenset(
            {RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}
        ),
        RecordState.ARCHIVING: frozenset({RecordState.ARCHIVED}),
        RecordState.ACKNOWLEDGED: frozenset(),
        RecordState.ARCHIVED: frozenset(),
    }
)
"""What may follow each state. AVAILABLE → ARCHIVED happens only to a record that the log has lost
(compaction, or a log start offset that overtook it), and to one that an operator archives."""

TERMINAL_STATES: Final[frozenset[RecordState]] = frozenset(
    state for state, following in PERMITTED_TRANSITIONS.items() if not following
)
"""The states that nothing follows. Delivery-complete counts are counts of these."""

UNDELIVERABLE_STATES: Final = TERMINAL_STATES | {RecordState.ARCHIVING}
"""The states of records that will never be delivered again."""
