"""`OwnEvents`: what happens to share groups and slots of this process, for its readers and for other processes.

Nothing is told while it happens: once a second one task looks at what counts anyway, finds what changed and hands the
same bytes, piece by piece, to all who listen. So no acknowledgement waits for a reader, or does anything for one.
Another process of the fleet asks again and again for what came since: the last events are kept for it as long as it
does. Imports no HTTP server.
"""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from kproxy.admin.activity.happenings import Event, Picture, changes
from kproxy.admin.json_chunks import chunks
from kproxy.admin.peer_views import PeerAnswer
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.handlers.ports import Background

EVENTS_PATH: Final = "/api/v1/events"
INTERVAL_S: Final = 1.0
"""Between two looks."""
MOST_KEPT_BYTES: Final = 3 << 20
"""Of events that other processes may still ask for: twice what is told of 10,000 busy groups at once.

It is less than a reader may have waiting (`event_readers.py`): who keeps up is not cut off by all of it at once.
"""
LOOKS_WITHOUT_QUESTIONS: Final = 10
"""After so many looks without a question of another process nothing is kept for others any more."""

_AFTER: Final = "after"


async def _nobody_has_to() -> None:
    """Return: nobody has to catch up."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Those who listen in this process.

    Args:
        is_there: whether anybody listens.
        tell: has them have events; returns at once and raises nothing.
        dismiss: lets them go; nothing more will come.
        catch_up: returns when they may be told more, which is soon even if somebody takes nothing.
    """

    is_there: Callable[[], bool] = lambda: False
    tell: Callable[[bytes], None] = lambda _: None
    dismiss: Callable[[], None] = lambda: None
    catch_up: Callable[[], Awaitable[None]] = _nobody_has_to


@dataclass(frozen=True, slots=True)
class EventsSince:
    """What one process tells another: events as text, and where to ask on.

    `cursor` is for the next question. `has_missed` says that there were events behind the place asked from which are
    not here, nor will be.
    """

    cursor: str
    has_missed: bool
    chunk: bytes

    def body(self) -> bytes:
        """Return it as it is sent: a line of JSON, then the text of the events."""
        head = {"cursor": self.cursor, "missed": self.has_missed}
        return b"".join([json.dumps(head).encode(), b"\n", self.chunk])


def path_after(cursor: str) -> str:
    """Return the path that asks another process for its own events since `cursor`, empty for those to come."""
    return f"{EVENTS_PATH}?{urlencode({'scope': 'local', _AFTER: cursor})}"


def events_of(body: bytes) -> EventsSince:
    """Return what `EventsSince.body` made. Raises ValueError for anything else."""
    head, separator, chunk = body.partition(b"\n")
    try:
        told = json.loads(head)
        cursor, has_missed = told["cursor"], told["missed"]
    except (LookupError, TypeError):
        raise ValueError(f"not the head of events: {head[:80]!r}") from None
    is_whole = separator and (not chunk or chunk.endswith(b"\n\n"))
    if not (is_whole and isinstance(cursor, str) and isinstance(has_missed, bool)):
        raise ValueError(f"not whole events: {body[-80:]!r}")
    return EventsSince(cursor, has_missed, chunk)


class OwnEvents:
    """The task that looks, and the last events: there are neither while nobody listens or asks.

    Args:
        look: takes a picture of this process; raises nothing.
        background: where the looking goes on.
        process: returns the name of this process, which each event has.
        interval_s: between two looks.
        most_kept_bytes: of events, for other processes that ask.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Picture]],
        *,
        background: Background,
        process: Callable[[], str] = str,
        interval_s: float = INTERVAL_S,
        most_kept_bytes: int = MOST_KEPT_BYTES,
    ) -> None:
        self._look = look
        self._background = background
        self._process = process
        self._interval_s = interval_s
        self._most_kept_bytes = most_kept_bytes
        self._audience = Audience()
        self._begun = asyncio.Event()
        self._over: asyncio.Event | None = None
        self._journal = ""
        self._looks_left = 0
        self._kept: deque[bytes] = deque()
        self._kept_size = 0
        self._next_number = 0

    def begin(self, audience: Audience | None = None) -> asyncio.Event:
        """Look on; return what is set after the first look: whatever is asked for then is no older than that look."""
        self._audience = audience or self._audience
        if self._over is None:
            self._over, self._begun = asyncio.Event(), asyncio.Event()
            self._journal = secrets.token_hex(8)
            self._background.begin_now(self._look_on, name="events of this process")
        return self._begun

    def end(self) -> None:
        """Look no more: the process ends."""
        if self._over is not None:
            self._over.set()

    # ------------------------------------------------ for other processes

    async def tell_peer(self, path: str) -> PeerAnswer | None:
        """Return the events since what `path` names, as another process asks for them; None for any other path."""
        parts = urlsplit(path)
        if parts.path != EVENTS_PATH:
            return None
        cursor = dict(parse_qsl(parts.query)).get(_AFTER, "")
        return PeerAnswer(HTTPStatus.OK, (await self.since(cursor)).body())

    async def since(self, cursor: str) -> EventsSince:
        """Return the events since `cursor`, and keep what comes for the next question."""
        self._looks_left = LOOKS_WITHOUT_QUESTIONS
        await self.begin().wait()
        wanted = self._number_in(cursor)
        first = self._next_number - len(self._kept)
        is_known = wanted is not None and first <= wanted <= self._next_number
        kept = list(self._kept)[wanted - first :] if wanted is not None and is_known else []
        return EventsSince(
            f"{self._journal}.{self._next_number}", bool(cursor) and not is_known, b"".join(kept)
        )

    def _number_in(self, cursor: str) -> int | None:
        journal, _, number = cursor.partition(".")
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(1 << 63))
        return int(number) if journal == self._journal and is_number else None

    def _keep(self, chunk: bytes) -> None:
        self._next_number += 1
        self._kept.append(chunk)
        self._kept_size += len(chunk)
        most_bytes = self._most_kept_bytes if self._looks_left > 0 else 0
        while self._kept_size > most_bytes:
            self._kept_size -= len(self._kept.popleft())

    # ------------------------------------------------ looking

    @property
    def _is_wanted(self) -> bool:
        return self._audience.is_there() or self._looks_left > 0

    async def _look_on(self) -> None:
        over = self._over
        assert over is not None
        try:
            before = await self._look()
            self._begun.set()
            while self._is_wanted and not over.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._interval_s):
                        await over.wait()
                now = await self._look()
                self._looks_left = max(0, self._looks_left - 1)
                await self._tell_changes(before, now)
                before = now
        finally:
            self._over = None
            self._kept.clear()
            self._kept_size = 0
            self._begun.set()
            self._audience.dismiss()

    async def _tell_changes(self, before: Picture, now: Picture) -> None:
        """Tell what changed in chunks of whole events, as soon as each is made, with a turn for others behind it.

        A group id may have 32,767 bytes, and there are as many groups as clients make.
        """
        process = {"process": self._process()}
        texts = (
            "".join(Event(each.name, {**process, **each.data}).text() for each in found)
            for found in changes(before, now)
        )
        for chunk in chunks(texts):
            if chunk:
                self._keep(chunk)
                self._audience.tell(chunk)
                await self._audience.catch_up()
            await let_other_looks_go_on()
