"""Brokers that are silent for a while, and brokers that are cut off from their controller."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.answering_broker import Answer, Reply
from tests.in_memory.scripted_cluster import ScriptedCluster


@asynccontextmanager
async def held_metadata(cluster: ScriptedCluster, *node_ids: int) -> AsyncIterator[asyncio.Event]:
    """Let these brokers answer Metadata only when the event is set."""
    may_answer = asyncio.Event()
    for node_id in node_ids:
        broker = cluster.brokers[node_id]
        broker.answers[ApiKey.METADATA] = partial(_answer_late, broker.answers[ApiKey.METADATA], may_answer)
    try:
        yield may_answer
    finally:
        may_answer.set()


async def _answer_late(answer: Answer, may_answer: asyncio.Event, request: DecodedRequest) -> Reply:
    await may_answer.wait()
    reply = answer(request)
    return await reply if isinstance(reply, Awaitable) else reply


def _naming(node_ids: set[int], answer: Answer, request: DecodedRequest) -> MetadataResponse:
    response = answer(request)
    assert isinstance(response, MetadataResponse)
    response.brokers = [broker for broker in response.brokers if broker.node_id in node_ids]
    return response


def name_itself_alone(cluster: ScriptedCluster, node_id: int) -> None:
    """Let a broker be fenced that was cut off from its controller when it alone was up: the others do not name it."""
    cluster.fall_behind(node_id)
    cluster.listed_node_ids.remove(node_id)
    broker, others = cluster.brokers[node_id], [each for each in cluster.brokers if each != node_id]
    for other in others:
        answer = cluster.brokers[other].answers[ApiKey.METADATA]
        cluster.brokers[other].answers[ApiKey.METADATA] = partial(_naming, set(others), answer)
    cluster.listed_node_ids.append(node_id)
    broker.answers[ApiKey.METADATA] = partial(_naming, {node_id}, broker.answers[ApiKey.METADATA])
