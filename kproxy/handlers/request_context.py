"""Who sent a request, where it arrived, and what its answer may take."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from kproxy.handlers.asked_rights import AskedRights
from kproxy.handlers.callers import PATIENT_CALLER, Caller
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.wire.codecs import Message


class AnswerBudget(Protocol):
    """The memory that one request may hold, and the answer to it until its client has taken it."""

    @property
    def may_wait(self) -> bool:
        """Whether it may be kept while it waits for something; else it is answered with what there is."""
        ...

    def grant(self, wanted_bytes: int) -> int:
        """Return how many bytes of records may be read, at most `wanted_bytes`; instead of what was granted before."""
        ...

    def give_back(self) -> None:
        """Hold nothing: what was read is of no use."""
        ...

    def keep(self, more_bytes: int) -> None:
        """Count so many bytes more that the answer takes beside records, until it is made, be there room or not."""
        ...


class UnlimitedAnswers:
    """An `AnswerBudget` for requests whose answers are small whatever they ask for."""

    may_wait = True

    def grant(self, wanted_bytes: int) -> int:
        """Grant all of it."""
        return wanted_bytes

    def give_back(self) -> None:
        """Do nothing."""

    def keep(self, more_bytes: int) -> None:
        """Do nothing."""


UNLIMITED_ANSWERS: Final = UnlimitedAnswers()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who sent a request, and where it arrived.

    `node_id` is the virtual broker whose port it came to; -1 is the bootstrap port. `client_host` is in
    Java's InetAddress form (`/127.0.0.1`), as Kafka shows it.
    """

    connection_id: int
    node_id: int
    api_key: int
    api_version: int
    client_id: str
    client_host: str
    peer: str = ""
    """The client's address with its port, for logs."""
    answer_budget: AnswerBudget = UNLIMITED_ANSWERS
    waited_ms: int = 0
    """How long it waited for the state log before it was served."""
    caller: Caller = PATIENT_CALLER
    refusals: RefusalStreaks = field(default_factory=RefusalStreaks, compare=False, repr=False)
    """Those of its connection."""
    is_relayed: bool = False
    """Whether its client knows other ports: those of the process that relays it, or those with TLS beside plaintext."""
    principal: Principal = ANONYMOUS
    """Who the client proved to be, at the moment it sent this."""
    answer_if_allowed: Message | None = None
    """What is answered if the client may ask for it, where that is known before anybody looks at its rights."""
    rights: AskedRights | None = None
    """What its client's broker says of the client's rights; None where the client has no broker in this process."""
    refusal: str = ""
    """Why it is to be refused whatever it asks, with COORDINATOR_NOT_AVAILABLE: the process that serves its group was
    asked, and gave no answer. Empty for a request that is to be served."""
