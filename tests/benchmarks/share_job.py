"""What a member process is told to consume, how it does, and what it tells afterwards."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from confluent_kafka import ShareConsumer

ERROR_LEVEL: Final = 3
"""Of syslog: each share consumer would warn that share consumers are new."""


@dataclass(frozen=True, slots=True)
class ConsumeJob:
    """Records to consume together with other members."""

    address: str
    group: str
    topic: str
    count: int
    """How many there are for all members."""
    is_cold: bool = False
    """Whether members subscribe when they are told to go, and not before."""

    def as_json(self) -> dict[str, Any]:
        """The job, ready for a line of JSON."""
        return asdict(self)


@dataclass(slots=True)
class MemberReport:
    """What one member did. Times are of the monotonic clock, which all processes share; 0 means that there was none."""

    subscribed_s: float = 0.0
    """When it was about to subscribe."""
    received: int = 0
    polls: int = 0
    first_record_s: float = 0.0
    last_record_s: float = 0.0
    last_answer_s: float = 0.0
    """When its last commit was answered."""

    def as_json(self) -> dict[str, Any]:
        """The report, ready for a line of JSON."""
        return asdict(self)


def share_consumer(
    address: str, *, group: str, topic: str, settings: Mapping[str, str] | None = None
) -> ShareConsumer:
    """A member of a share group that acknowledges implicitly; what `settings` do not say is the client's default."""
    chosen = {"bootstrap.servers": address, "group.id": group, "log_level": ERROR_LEVEL}
    consumer = ShareConsumer({**chosen, **(settings or {})})
    consumer.subscribe([topic])
    return consumer
