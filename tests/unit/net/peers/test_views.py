"""Paths of the admin port that one process asks of another."""

import asyncio
from typing import cast

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.fleet.peer_hello import Purpose
from kproxy.net.peers.peer_dialler import Visit
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.views import MOST_PATH_BYTES, ViewQuestion, ViewService, ask_view
from kproxy.net.tasks import TaskKeeper
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import OwnerUnderTest, ScriptedPeer, dialler
from tests.worlds.waiting import until, until_all_wait

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


async def shown(owner: OwnerUnderTest, path: str, *, patience_ms: int = 5_000) -> tuple[int, bytes]:
    return await ask_view(dialler(), owner.peer, path, limits=PeerLimits(), patience_ms=patience_ms)


async def test_a_path_is_answered_with_status_and_json() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        asked: list[str] = []

        async def views(path: str) -> tuple[int, bytes]:
            asked.append(path)
            return 200, b'{"groups": []}' * 100_000

        owner.listener.views = views

        # When
        status, body = await shown(owner, "/api/v1/groups?state=Stable&name=größe")

        # Then
        assert (status, body) == (200, b'{"groups": []}' * 100_000)
        assert asked == ["/api/v1/groups?state=Stable&name=größe"]


async def test_where_nothing_is_shown_it_says_so() -> None:
    async with OwnerUnderTest() as owner:
        assert await shown(owner, "/api/v1/groups") == (404, b'{"error": "no views"}')


async def test_a_view_that_fails_is_a_fault_that_is_noted_and_told() -> None:
    async with OwnerUnderTest() as owner:

        async def views(_path: str) -> tuple[int, bytes]:
            raise RuntimeError("broken")

        owner.listener.views = views

        status, _ = await shown(owner, "/api/v1/groups")

        assert status == 500
        assert owner.counted.of("task_faults", "view for a peer") == 1


async def test_a_view_that_takes_too_long_is_not_waited_for() -> None:
    async with OwnerUnderTest() as owner:

        async def views(_path: str) -> tuple[int, bytes]:
            await asyncio.Event().wait()
            return 200, b""

        owner.listener.views = views

        with pytest.raises(CoordinatorNotAvailable, match="b shows nothing within 50 ms"):
            await shown(owner, "/api/v1/groups", patience_ms=50)


async def test_several_paths_on_one_connection_are_answered_one_after_the_other() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        async def views(path: str) -> tuple[int, bytes]:
            return 200, path.encode()

        owner.listener.views = views
        question = await dialler().open(owner.peer, Purpose.VIEWS, lambda: ViewQuestion("/first", 1 << 20))
        assert question._transport is not None
        question._transport.write(b"\x00\x00\x00\x02/2")

        # When
        first = await question.answered

        # Then
        assert first == (200, b"/first")
        question.close()


class Listening(Visit):
    """Hears when its connection is over."""

    def __init__(self) -> None:
        super().__init__()
        self.is_lost = asyncio.Event()

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost.set()


class KeptTransport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def writelines(self, parts: list[bytes]) -> None:
        self.written += parts


async def test_who_sends_more_than_one_path_ahead_is_closed() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        was_asked, may_answer = asyncio.Event(), asyncio.Event()

        async def views(_path: str) -> tuple[int, bytes]:
            was_asked.set()
            await may_answer.wait()
            return 200, b""

        owner.listener.views = views
        visit = await dialler().open(owner.peer, Purpose.VIEWS, Listening)
        transport = cast("asyncio.Transport", visit._transport)
        transport.write(b"\x00\x00\x00\x01/")
        await was_asked.wait()

        # When
        transport.write(b"\x00\x00\x00\x01/" * 2)

        # Then
        async with asyncio.timeout(2):
            await visit.is_lost.wait()
        may_answer.set()


async def test_who_does_not_read_its_answer_has_no_further_one_made() -> None:
    # Given
    asked: list[str] = []

    async def views(path: str) -> tuple[int, bytes]:
        asked.append(path)
        return 200, b"{}"

    keeper, transport = TaskKeeper(), KeptTransport()
    service = ViewService(views, keeper, PeerLimits())
    service.connection_made(cast("asyncio.Transport", transport))
    service.pause_writing()

    # When
    service.data_received(b"\x00\x00\x00\x02/1")
    await until_all_wait()
    while_full = list(asked)
    service.resume_writing()
    await until(lambda: bool(transport.written))

    # Then
    assert (while_full, asked) == ([], ["/1"])
    await keeper.close()


@pytest.mark.parametrize("length", [0, -1, MOST_PATH_BYTES + 1])
async def test_what_can_be_no_path_ends_the_connection(length: int) -> None:
    async with OwnerUnderTest() as owner:
        visit = await dialler().open(owner.peer, Purpose.VIEWS, Listening)
        transport = cast("asyncio.Transport", visit._transport)

        transport.write(length.to_bytes(4, "big", signed=True) + b"/")

        await visit.is_lost.wait()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"\x7f\xff\xff\xff\x00\xc8", "a view of 2147483647 bytes, 67108864 at most are read"),
        (b"\x00\x00\x00\x01\x00", "a view of 1 byte"),
    ],
)
async def test_an_answer_that_can_be_none_is_refused_in_words(reply: bytes, words: str) -> None:
    async with ScriptedPeer() as scripted:
        scripted.reply = reply

        with pytest.raises(CoordinatorNotAvailable, match=f"b shows nothing: {words}"):
            await ask_view(dialler(), scripted.peer, "/", limits=PeerLimits(), patience_ms=5_000)


async def test_a_process_that_cannot_be_reached_is_named() -> None:
    async with OwnerUnderTest() as owner:
        peer = owner.peer
    with pytest.raises(CoordinatorNotAvailable, match=r"b shows nothing: b: 127.0.0.1:\d+ cannot be reached"):
        await ask_view(dialler(), peer, "/", limits=PeerLimits(), patience_ms=5_000)
