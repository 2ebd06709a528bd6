"""Producer ids of transactional ids: each answer outranks the one before, and coordinators are found."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse
from tests.in_memory.answering_broker import Reply
from tests.in_memory.scripted_state_log import WRITING_VERSIONS, ScriptedStateLog
from tests.worlds.state_logs import StateLogBacking

SLOT_0, SLOT_1 = "__kproxy_share_state-0", "__kproxy_share_state-1"


async def failure_of(cluster: ScriptedStateLog) -> str:
    """Return why no identity can be had."""
    async with cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        with pytest.raises(BrokerUnavailable) as failure:
            await backing.identities.next(SLOT_0)
    return str(failure.value)


@pytest.mark.parametrize("highest_version", [1, 3, 4])
async def test_each_identity_is_the_same_producer_under_a_higher_epoch(highest_version: int) -> None:
    # Given
    versions = {**WRITING_VERSIONS, ApiKey.FIND_COORDINATOR: (0, highest_version)}
    async with ScriptedStateLog(versions=versions) as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()

        # When
        identities = [await backing.identities.next(name) for name in (SLOT_0, SLOT_0, SLOT_1, SLOT_0)]

        # Then
        assert identities == [
            ProducerIdentity(1000, 0),
            ProducerIdentity(1000, 1),
            ProducerIdentity(1001, 0),
            ProducerIdentity(1000, 2),
        ]


async def test_the_coordinator_is_looked_for_once() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        cluster.coordinator_id = 2
        await backing.metadata.refresh()

        # When
        for _ in range(3):
            await backing.identities.next(SLOT_0)

        # Then
        assert len(cluster.asked(ApiKey.FIND_COORDINATOR)) == 1
        assert len(cluster.brokers[2].asked(ApiKey.INIT_PRODUCER_ID)) == 3


async def test_a_coordinator_that_was_found_ahead_is_not_looked_for_again() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        await backing.identities.look_ahead(SLOT_0)

        # When
        await backing.identities.next(SLOT_0)

        # Then
        assert len(cluster.asked(ApiKey.FIND_COORDINATOR)) == 1


@pytest.mark.parametrize(("highest_version", "looks"), [(4, 1), (3, 2)])
async def test_the_coordinators_of_many_are_found_ahead_in_one_request_where_brokers_know_how(
    highest_version: int, looks: int
) -> None:
    # Given
    versions = {**WRITING_VERSIONS, ApiKey.FIND_COORDINATOR: (0, highest_version)}
    async with ScriptedStateLog(versions=versions) as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        await backing.identities.look_ahead(SLOT_0, SLOT_1)

        # When
        for name in (SLOT_0, SLOT_1):
            await backing.identities.next(name)

        # Then
        assert len(cluster.asked(ApiKey.FIND_COORDINATOR)) == looks


async def test_identities_that_are_asked_for_together_do_not_wait_for_each_other() -> None:
    """A broker serves the requests of one connection one by one."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        await backing.identities.look_ahead(SLOT_0, SLOT_1)
        honest = cluster.brokers[1].answers[ApiKey.INIT_PRODUCER_ID]
        both_have_come, asked = asyncio.Event(), []

        async def answer_both_together(request: DecodedRequest) -> Reply:
            asked.append(request)
            if len(asked) == 2:
                both_have_come.set()
            await both_have_come.wait()
            answer = honest(request)
            assert isinstance(answer, InitProducerIdResponse)
            return answer

        cluster.brokers[1].answers[ApiKey.INIT_PRODUCER_ID] = answer_both_together

        # When
        identities = await asyncio.gather(*(backing.identities.next(name) for name in (SLOT_0, SLOT_1)))

        # Then
        assert {identity.producer_epoch for identity in identities} == {0}


async def test_a_coordinator_that_cannot_be_found_ahead_is_looked_for_when_it_is_needed() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        honest = cluster.brokers[1].answers[ApiKey.FIND_COORDINATOR]
        cluster.brokers[1].answers[ApiKey.FIND_COORDINATOR] = lambda _: FindCoordinatorResponse()
        await backing.identities.look_ahead(SLOT_0)
        cluster.brokers[1].answers[ApiKey.FIND_COORDINATOR] = honest

        # When
        identity = await backing.identities.next(SLOT_0)

        # Then
        assert identity == ProducerIdentity(1000, 0)


async def test_a_coordinator_that_is_none_any_more_is_looked_for_anew() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.refresh()
        await backing.identities.next(SLOT_0)
        cluster.coordinator_id = 2
        with pytest.raises(BrokerUnavailable, match="NOT_COORDINATOR"):
            await backing.identities.next(SLOT_0)

        # When
        identity = await backing.identities.next(SLOT_0)

        # Then
        assert identity == ProducerIdentity(1000, 1)


async def test_a_principal_without_permission_is_told_which_one_it_needs() -> None:
    # Given
    cluster = ScriptedStateLog()
    cluster.refused_initializations.append(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    # When
    failure = await failure_of(cluster)

    # Then
    assert failure.startswith(f"InitProducerId of {SLOT_0} at 127.0.0.1:")
    assert failure.endswith("kproxy's principal needs Describe and Write on this transactional id")


async def test_any_other_refusal_is_named() -> None:
    # Given
    cluster = ScriptedStateLog()
    cluster.refused_initializations.append(ErrorCode.CONCURRENT_TRANSACTIONS)

    # When / Then
    assert (await failure_of(cluster)).endswith(": CONCURRENT_TRANSACTIONS (51)")
