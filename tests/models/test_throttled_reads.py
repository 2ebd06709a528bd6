"""Brokers whose quotas kproxy exceeds, from the answer on the wire to the next read."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import Throttle
from kproxy.net.cluster.throttle import LONGEST_THROTTLE_MS
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_response import FetchResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing


async def test_a_leader_whose_quotas_are_exceeded_is_not_asked_again_before_the_time_is_over() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.brokers[1].answers[ApiKey.FETCH] = lambda _: FetchResponse(throttle_time_ms=5_000)

        # When
        told = await backing.read_one(ORDERS, 0, 0)
        held_back = await backing.read_one(ORDERS, 0, 0)

        # Then
        assert told.throttle == Throttle(5_000, is_new=True)
        assert held_back.error_code is told.error_code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert held_back.throttle is not None
        assert not held_back.throttle.is_new
        assert 4_000 < held_back.throttle.remaining_ms <= 5_000
        assert len(cluster.asked(ApiKey.FETCH)) == 1
        assert backing.counted.of("broker_throttles") == 1


async def test_clients_are_not_asked_to_wait_for_longer_than_kproxy_waits() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.brokers[1].answers[ApiKey.FETCH] = lambda _: FetchResponse(throttle_time_ms=2**31 - 1)

        # When
        told = await backing.read_one(ORDERS, 0, 0)

        # Then
        assert told.throttle == Throttle(LONGEST_THROTTLE_MS, is_new=True)
