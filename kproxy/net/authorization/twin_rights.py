"""`TwinRights`: what the client of one connection may do, learned on its own connection to its broker.

The broker at the other end asks its own authorizer, whatever that is, about the client as it has authenticated there,
at kproxy's address. What it told is believed for `refresh_ms`, is asked for again then by the next request that needs
it, and is forgotten when the client authenticates anew. A request that is at work goes by it for `GRACE_MS` more. What
cannot be learned is refused.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kproxy.errors import CoordinatorNotAvailable, MalformedMessage
from kproxy.handlers.ports import Clock
from kproxy.interception.client_session import ClientSession
from kproxy.interception.response_slots import Buffers, ResponseSlot, SlotKind
from kproxy.net.authorization.rights_questions import (
    RIGHTS_CORRELATION_ID,
    Kind,
    RightsQuestion,
    Told,
    kinds_telling,
    questions,
)
from kproxy.net.counting import Counting
from kproxy.security.authorized_operations import ToldOperations
from kproxy.security.principal import ANONYMOUS
from kproxy.security.sasl_exchange import Proof

GRACE_MS: Final = 2_000
"""How long a request may take between learning what its client may do and acting on it."""

PATIENCE_SECONDS: Final = 10.0
"""How long an answer is waited for."""

MOST_BYTES: Final = 32 * 1024 * 1024
"""What may be kept of all connections together; then the one that learned nothing for longest forgets."""

MOST_OF_ONE_BYTES: Final = 2 * 1024 * 1024
"""What may be kept of one connection: some 5,000 names of 20 characters."""

_ENTRY_BYTES: Final = 320
_CHARACTER_BYTES: Final = 4
_MOST_UNANSWERED: Final = 4
"""Questions that a broker owes the answers to. More are not asked: nobody waits for most of them any more."""

_LARGE_ANSWER_BYTES: Final = 64 * 1024
"""What is longer is read in a thread: Metadata has all partitions."""

_IN_USE: Final = "its connection to the broker was in use"
_OTHER_NAME: Final = "it authenticates by a certificate, and brokers see kproxy instead"
_GONE: Final = "its connection ended"
_TOO_MANY: Final = "the request is about more groups and topics than are looked at"


class RightsRoom:
    """The memory for what was learned, of all connections together."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: dict[TwinRights, int] = {}
        self.held_bytes = 0

    def take(self, holder: "TwinRights", size: int) -> None:
        """Let `holder` keep `size` bytes more; others forget where that is too much."""
        self._held[holder] = self._held.pop(holder, 0) + size
        self.held_bytes += size
        while self.held_bytes > self._most_bytes and (oldest := next(iter(self._held))) is not holder:
            oldest.forget()

    def bytes_of(self, holder: "TwinRights") -> int:
        """Return how many bytes `holder` keeps."""
        return self._held.get(holder, 0)

    def give_back(self, holder: "TwinRights") -> None:
        """Let `holder` keep nothing."""
        self.held_bytes -= self._held.pop(holder, 0)


@dataclass(frozen=True, slots=True)
class RightsTerms:
    """What all connections have in common."""

    clock: Clock
    counting: Counting
    refresh_ms: int
    """How long what was told is believed."""
    room: RightsRoom = field(default_factory=RightsRoom)
    shows_certificate: bool = False
    """Whether brokers see a certificate of kproxy's: then a client without SASL has kproxy's name there."""


@dataclass(frozen=True, slots=True)
class _Entry:
    told: ToldOperations
    asked_ms: int


class TwinRights:
    """Implements `AskedRights`.

    Args:
        session: what the client's requests and the broker's answers pass through.
        send: called when `session` has something for the broker.
        terms: see there.
    """

    __slots__ = (
        "_awaited",
        "_entries",
        "_failure",
        "_is_over",
        "_proof",
        "_send",
        "_session",
        "_terms",
        "_unanswered_count",
    )

    def __init__(self, session: ClientSession, send: Callable[[], None], terms: RightsTerms) -> None:
        self._session = session
        self._send = send
        self._terms = terms
        self._entries: dict[tuple[Kind, str], _Entry] = {}
        self._proof: Proof | None = None
        self._awaited: set[asyncio.Future[bytes | None]] = set()
        self._unanswered_count = 0
        self._failure = ""
        self._is_over = False

    async def learn(
        self, operation: int, resource_type: int, names: Collection[str], on_asking: Callable[[], None]
    ) -> None:
        self._forget_another_client()
        if not self._has_own_name:
            self._fail(_OTHER_NAME)
            return
        kinds = kinds_telling(operation, resource_type)
        for number, kind in enumerate(kinds, 1):
            open_names = [name for name in names if not self._is_settled(operation, kinds[:number], name)]
            for question in questions(kind, self._with_room(kind, open_names)):
                on_asking()
                if not await self._ask(kind, question):
                    return

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        kinds = kinds_telling(operation, resource_type)
        if not kinds:
            return False
        self._forget_another_client()
        oldest_ms = self._terms.clock.now_ms() - self._terms.refresh_ms - GRACE_MS
        for kind in kinds:
            entry = self._entries.get((kind, name))
            told = entry.told.allows(operation) if entry is not None and entry.asked_ms >= oldest_ms else None
            if told is not None:
                return told
        reason = (
            self._failure or "its broker does not tell, for it does not coordinate the group, or is too old"
        )
        raise CoordinatorNotAvailable(f"it could not be learned what the client may do: {reason}")

    def forget(self) -> None:
        """Have everything asked for again."""
        self._entries.clear()
        self._terms.room.give_back(self)

    def close(self) -> None:
        """Learn nothing any more: the connection has ended."""
        self._is_over = True
        self.forget()
        self._send = _send_nothing
        for awaited in self._awaited:
            if not awaited.done():
                awaited.set_result(None)

    # ------------------------------------------------ private

    @property
    def _has_own_name(self) -> bool:
        """Whether the broker knows the client by the name that it has here."""
        if self._session.sasl.proof is not None:
            return True
        return self._session.principal == ANONYMOUS and not self._terms.shows_certificate

    def _forget_another_client(self) -> None:
        proof = self._session.sasl.proof
        if proof is not self._proof:
            self._proof = proof
            self.forget()

    def _is_settled(self, operation: int, kinds: Sequence[Kind], name: str) -> bool:
        """Tell whether one of `kinds` has told `operation` a moment ago, or the last of them has not."""
        begin_ms = self._terms.clock.now_ms() - self._terms.refresh_ms
        entries = ((kind, self._entries.get((kind, name))) for kind in kinds)
        return any(
            kind is kinds[-1] or entry.told.allows(operation) is not None
            for kind, entry in entries
            if entry is not None and entry.asked_ms > begin_ms
        )

    def _with_room(self, kind: Kind, names: Sequence[str]) -> Sequence[str]:
        """Return `names` when there is room for what is told of them; where it is scarce old answers are forgotten.

        What was told within `GRACE_MS` the request at work goes by: it is kept, and a request about more is refused.
        """
        added_bytes = sum(_bytes_of(name) for name in names if (kind, name) not in self._entries)
        if added_bytes + self._terms.room.bytes_of(self) > MOST_OF_ONE_BYTES:
            self._forget_old()
        if added_bytes + self._terms.room.bytes_of(self) > MOST_OF_ONE_BYTES:
            self._fail(_TOO_MANY)
            return ()
        return names

    def _forget_old(self) -> None:
        begin_ms = self._terms.clock.now_ms() - GRACE_MS
        kept = {key: entry for key, entry in self._entries.items() if entry.asked_ms > begin_ms}
        self.forget()
        for (kind, name), entry in kept.items():
            self._keep(kind, name, entry)

    async def _ask(self, kind: Kind, question: RightsQuestion) -> bool:
        """Ask, and keep what is told; tell whether to go on."""
        proof, asked_ms = self._proof, self._terms.clock.now_ms()
        frame = await self._answer_to(question)
        if frame is None:
            return False
        try:
            told = await _read(question, frame)
        except MalformedMessage as malformed:
            self._fail(f"the broker's answer cannot be read: {malformed}")
            return False
        if self._is_over or self._session.sasl.proof is not proof:
            self._fail(_GONE)
            return False
        self._terms.counting.count("rights_questions", 1, "answered")
        self._failure = ""
        for name in question.names:
            self._keep(kind, name, _Entry(told.get(name, ToldOperations()), asked_ms))
        return True

    def _keep(self, kind: Kind, name: str, entry: _Entry) -> None:
        if (kind, name) not in self._entries:
            self._terms.room.take(self, _bytes_of(name))
        self._entries[kind, name] = entry

    async def _answer_to(self, question: RightsQuestion) -> bytes | None:
        """Return the frame of the broker's answer; None when there is none, and say why."""
        if self._is_over or self._unanswered_count >= _MOST_UNANSWERED:
            self._fail(_GONE if self._is_over else _IN_USE)
            return None
        awaited: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        slot = ResponseSlot(SlotKind.SWALLOW, question.api_key, question.api_version, RIGHTS_CORRELATION_ID)
        slot.rewrite = partial(self._hear, awaited)
        if not self._session.ask_broker(slot, question.frame()):
            self._fail(_IN_USE)
            return None
        self._unanswered_count += 1
        self._awaited.add(awaited)
        self._send()
        try:
            frame = await asyncio.wait_for(awaited, PATIENCE_SECONDS)
        except TimeoutError:
            self._fail(f"its broker did not answer within {PATIENCE_SECONDS:.0f} s")
            return None
        finally:
            self._awaited.discard(awaited)
        if frame is None:
            self._fail(_GONE)
        return frame

    def _hear(self, awaited: "asyncio.Future[bytes | None]", frame: memoryview) -> Buffers:
        self._unanswered_count -= 1
        if not awaited.done():
            awaited.set_result(bytes(frame))
        return []

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._terms.counting.count("rights_questions", 1, "failed")


def _send_nothing() -> None:
    """Stand in for a connection that has ended, so that nothing keeps it."""


def _bytes_of(name: str) -> int:
    return _ENTRY_BYTES + _CHARACTER_BYTES * len(name)


async def _read(question: RightsQuestion, frame: bytes) -> Told:
    if len(frame) > _LARGE_ANSWER_BYTES:
        return await asyncio.to_thread(question.read, frame)
    return question.read(frame)
