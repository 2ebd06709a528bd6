"""Whatever a client sends in one go, answers come in its order: the broker's, a peer's, and kproxy's own."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.event_loops import BOTH_LOOPS, run
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.peering import (
    OwnerUnderTest,
    RelayingProcess,
    acknowledgement_of,
    fetch_of,
    frame_from,
    heartbeat_of,
    number_of,
)
from tests.unit.net.relaying import request, response

KINDS = ("broker", "here", "peer b", "peer c")
ASKED = {"here": fetch_of, "peer b": heartbeat_of, "peer c": acknowledgement_of}


class Broker:
    """Answers each request when all of it has come."""

    def __init__(self) -> None:
        self._came = b""

    def reply(self, data: bytes) -> bytes:
        """Take the next bytes; return what is answered."""
        self._came += data
        size, answers = len(request(0)), b""
        while len(self._came) >= size:
            answers += response(int.from_bytes(self._came[8:12], "big"))
            self._came = self._came[size:]
        return answers


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@settings(max_examples=15)
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=25), cut=st.integers(1, 200))
def test_answers_come_in_the_order_of_the_requests(kinds: list[str], cut: int, loop_kind: str) -> None:
    async def example() -> None:
        async with (
            ScriptedBroker(Broker().reply) as broker,
            OwnerUnderTest("b") as b,
            OwnerUnderTest("c") as c,
            RelayingProcess(broker.port) as process,
        ):
            process.owners.by_group |= {"peer b": b.peer, "peer c": c.peer}
            for apis in (b.apis, c.apis, process.apis):
                apis.may_answer.set()
            sent = b"".join(
                request(number) if kind == "broker" else ASKED[kind](kind, number)
                for number, kind in enumerate(kinds)
            )
            reader, writer = await process.connect()
            writer.write(sent[:cut])
            await asyncio.sleep(0)
            writer.write(sent[cut:])
            numbers = [number_of(await frame_from(reader)) for _ in kinds]
            writer.close()

            assert numbers == list(range(len(kinds)))
            asked = {"peer b": b.apis, "peer c": c.apis, "here": process.apis}
            assert {kind: len(apis.requests) for kind, apis in asked.items()} == {
                kind: kinds.count(kind) for kind in asked
            }

    run(example(), loop_kind)
