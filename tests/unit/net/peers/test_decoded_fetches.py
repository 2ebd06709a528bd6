"""Fetches that are asked of a peer decoded: their group moved there after they had been read for this process."""

import asyncio
from dataclasses import replace

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.request_context import RequestContext
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import Fleet

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

CONTEXT = RequestContext(5, 2, 78, 1, "client", "/10.0.0.1", "10.0.0.1:4711")


def fetch(*, max_wait_ms: int = 0) -> DecodedRequest:
    message = ShareFetchRequest(group_id="far", member_id="m", max_wait_ms=max_wait_ms)
    return DecodedRequest(78, 1, 3, "client", message)


@pytest.mark.parametrize("reason", ["moved", "lease_ended"])
async def test_records_that_may_be_another_members_by_now_are_handed_to_nobody(reason: str) -> None:
    async with Fleet() as fleet:
        # Given
        owners, owner = fleet.process.owners, fleet.owner
        owner.apis.records = b"records"

        async def answer_too_late() -> None:
            await owner.apis.was_asked.wait()
            if reason == "moved":
                owners.by_group["far"] = replace(owner.peer, token="token-c", name="c")
            owners.is_sure = reason == "moved"
            owner.apis.may_answer.set()

        # When
        with pytest.raises(CoordinatorNotAvailable) as refused:
            await asyncio.gather(fleet.process.twins.ask(owner.peer, fetch(), CONTEXT), answer_too_late())

        # Then
        assert str(refused.value) == "b, which serves it, gave no answer"


@pytest.mark.parametrize("reason", ["moved", "lease_ended"])
async def test_records_whose_group_moves_while_they_are_decoded_are_handed_to_nobody(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Fleet() as fleet:
        # Given
        owners, owner, twins = fleet.process.owners, fleet.owner, fleet.process.twins
        owner.apis.records = b"records"
        owner.apis.may_answer.set()
        decode = twins._decoder.message_of

        async def decode_for_long(api_key: int, version: int, frame: bytes) -> Message:
            message = await decode(api_key, version, frame)
            if reason == "moved":
                owners.by_group["far"] = replace(owner.peer, token="token-c", name="c")
            owners.is_sure = reason == "moved"
            return message

        monkeypatch.setattr(twins._decoder, "message_of", decode_for_long)

        # When
        with pytest.raises(CoordinatorNotAvailable) as refused:
            await twins.ask(owner.peer, fetch(), CONTEXT)

        # Then
        assert str(refused.value) == "b, which serves it, gave no answer"


async def test_a_fetch_may_be_held_as_long_as_its_client_says() -> None:
    async with Fleet() as fleet:
        # Given
        owner, twins = fleet.owner, fleet.process.twins
        patience: list[int] = []

        async def look_and_answer() -> None:
            await owner.apis.was_asked.wait()
            twin = await twins._places[CONTEXT.connection_id][owner.peer.token].twin()
            patience.extend(owed.patience_ms for owed in twin._owed)
            owner.apis.may_answer.set()

        # When
        await asyncio.gather(twins.ask(owner.peer, fetch(max_wait_ms=60_000), CONTEXT), look_and_answer())

        # Then
        assert patience == [PeerLimits().patience_ms + 60_000]
