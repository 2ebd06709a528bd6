"""Ports: bound before anybody is told, kept once bound, and refused in words that help."""

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest

from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker
from kproxy.net.relay import listeners as net_listeners
from kproxy.net.relay.listeners import Listeners, PortPlan, PortUnavailable
from tests.event_loops import BOTH_LOOPS
from tests.real_kafka.ports import ReservedPort
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, share_fetch
from tests.worlds.waiting import until


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two that nobody else gets while the test lasts."""
    with ReservedPort(BIND_HOST) as one, ReservedPort(BIND_HOST) as other:
        yield one.number, other.number


@pytest.mark.parametrize(("node_id", "port"), [(0, 19100), (7, 19107), (3, 20003)])
def test_a_broker_has_the_same_port_at_every_start_unless_the_map_names_another(
    node_id: int, port: int
) -> None:
    plan = PortPlan(BIND_HOST, 19092, 19100, "kproxy", {3: 20003})

    assert plan.port_of(node_id) == port


def test_the_advertised_host_may_have_the_node_id_in_it() -> None:
    plan = PortPlan(BIND_HOST, 19092, 19100, "broker-$(nodeId).kproxy.svc")

    assert [plan.host_of(node_id) for node_id in (0, 12)] == ["broker-0.kproxy.svc", "broker-12.kproxy.svc"]


def test_a_node_id_that_leads_beyond_the_last_port_is_refused_with_the_keys_to_change() -> None:
    plan = PortPlan(BIND_HOST, 19092, 65_000, "kproxy")

    with pytest.raises(
        PortUnavailable, match=r"port 66001.*kproxy\.broker\.port\.start.*kproxy\.broker\.port\.map"
    ):
        plan.port_of(1001)


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_broker_may_be_named_to_clients_once_its_port_is_bound(ports: tuple[int, int]) -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, ports[0] - 5, "kproxy.example")
        listeners = Listeners(plan, under_test.relay, under_test.addresses)

        await listeners.bind([BackingBroker(5, "broker-5", 9092)])

        port = listeners.bound_ports[5]
        assert under_test.addresses.address_of(5) == AdvertisedAddress("kproxy.example", port)
        assert listeners.backing_brokers[5] == BackingBroker(5, "broker-5", 9092)
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_broker_that_moved_keeps_its_port_and_is_dialled_at_its_new_address(
    ports: tuple[int, int],
) -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        listeners = Listeners(
            PortPlan(BIND_HOST, 0, ports[0] - 5, "kproxy"), under_test.relay, under_test.addresses
        )
        await listeners.bind([BackingBroker(5, "old", 9092)])
        before = dict(listeners.bound_ports)

        await listeners.bind([BackingBroker(5, "new", 9093)])

        assert listeners.bound_ports == before
        assert listeners.backing_brokers[5] == BackingBroker(5, "new", 9093)
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_port_in_use_is_refused_with_the_port_and_the_key_and_nobody_is_told_of_it() -> None:
    with socket.socket() as occupant:
        occupant.bind((BIND_HOST, 0))
        occupant.listen()
        port = occupant.getsockname()[1]
        async with RelayUnderTest(upstream_port=1) as under_test:
            listeners = Listeners(
                PortPlan(BIND_HOST, 0, port - 5, "kproxy"), under_test.relay, under_test.addresses
            )

            with pytest.raises(PortUnavailable, match=rf"{port}.*in use.*kproxy\.broker\.port\.start"):
                await listeners.bind([BackingBroker(5, "broker-5", 9092)])

            assert under_test.addresses.address_of(5) is None


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_port_that_is_taken_leaves_the_other_brokers_with_theirs_and_says_so_in_the_end(
    ports: tuple[int, int],
) -> None:
    with socket.create_server((BIND_HOST, 0)) as occupant:
        port = occupant.getsockname()[1]
        async with RelayUnderTest(upstream_port=1) as under_test:
            plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: port, 6: ports[0], 7: port})
            listeners = Listeners(plan, under_test.relay, under_test.addresses)

            with pytest.raises(PortUnavailable, match=rf"{port}.*; .*{port}"):
                await listeners.bind([BackingBroker(node_id, "broker", 9092) for node_id in (5, 6, 7)])

            assert set(listeners.bound_ports) == {6}
            assert set(listeners.backing_brokers) == {5, 6, 7}
            await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_broker_that_joins_and_gets_no_port_is_told_of_and_gets_it_once_it_is_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "kproxy.net.relay.listeners"):
        async with RelayUnderTest(upstream_port=1) as under_test:
            joining = [BackingBroker(5, "joining", 9092)]
            with socket.create_server((BIND_HOST, 0)) as occupant:
                port = occupant.getsockname()[1]
                plan = PortPlan(BIND_HOST, 0, port - 5, BIND_HOST)
                listeners = Listeners(plan, under_test.relay, under_test.addresses)
                await listeners.follow(joining)
                assert under_test.addresses.address_of(5) is None

            await listeners.bind_newcomers(joining)

            assert under_test.addresses.address_of(5) == AdvertisedAddress(BIND_HOST, port)
            await listeners.stop_accepting()
    assert [record.msg for record in caplog.records] == ["port_unavailable", "broker_port_bound"]


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_host_to_advertise_that_nobody_knows_is_told_once_for_all_brokers(
    ports: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        # A label without a character: no name server is asked.
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy..example", {5: ports[0], 6: ports[1]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)

        await listeners.bind([BackingBroker(5, "one", 9092), BackingBroker(6, "another", 9092)])

        await until(lambda: "advertised_host_unknown" in [record.msg for record in caplog.records])
        await listeners.stop_accepting()
    warnings = [record.msg for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == ["advertised_host_unknown"]


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_response_to_a_client_does_not_move_a_broker_that_is_known(ports: tuple[int, int]) -> None:
    """It may have come from a broker that has not heard of the move."""
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: ports[0], 6: ports[1]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        await listeners.bind([BackingBroker(5, "new", 9093)])

        await listeners.bind_newcomers([BackingBroker(5, "old", 9092), BackingBroker(6, "sixth", 9094)])

        assert listeners.backing_brokers[5] == BackingBroker(5, "new", 9093)
        assert listeners.backing_brokers[6] == BackingBroker(6, "sixth", 9094)
        assert set(listeners.bound_ports) == {5, 6}
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_no_port_is_opened_for_a_client_before_it_is_known_what_is_served(
    ports: tuple[int, int],
) -> None:
    """A share consumer that finds no share groups behind a broker's port never asks again on that connection."""
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: ports[0], 6: ports[1]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        listeners.hold_newcomers()
        response = asyncio.get_running_loop().create_task(
            listeners.bind_newcomers([BackingBroker(6, "sixth", 9094)])
        )
        await asyncio.sleep(0)
        bound_before = dict(listeners.bound_ports)

        await listeners.bind([BackingBroker(5, "fifth", 9093)])
        await response

        assert bound_before == {}
        assert set(listeners.bound_ports) == {5, 6}
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_who_connects_before_it_is_known_what_is_served_is_accepted_afterwards_with_all_that_it_sent() -> (
    None
):
    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        listeners = Listeners(PortPlan(BIND_HOST, 0, 1, "kproxy"), under_test.relay, under_test.addresses)
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        admitted = under_test.tasks.spawn(listeners.admit_newcomers(), name="admit newcomers")
        reader, writer = await asyncio.open_connection(BIND_HOST, listeners.bound_ports[-1])
        writer.write(share_fetch(1))
        await asyncio.sleep(0)
        accepted_before = len(under_test.relay.connections)

        # When
        await listeners.bind([])
        await admitted
        await under_test.apis.was_asked.wait()
        under_test.apis.may_answer.set()

        # Then
        assert await reader.readexactly(4)
        assert accepted_before == 0
        writer.close()
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_nobody_waits_for_long_to_be_accepted_when_the_cluster_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(net_listeners, "HOLD_SECONDS", 0.01)

    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        listeners = Listeners(PortPlan(BIND_HOST, 0, 1, "kproxy"), under_test.relay, under_test.addresses)
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        _, writer = await asyncio.open_connection(BIND_HOST, listeners.bound_ports[-1])

        # When
        await listeners.admit_newcomers()

        # Then
        await until(lambda: len(under_test.relay.connections) == 1)
        writer.close()
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_ports_that_were_closed_meanwhile_stay_closed() -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        listeners = Listeners(PortPlan(BIND_HOST, 0, 1, "kproxy"), under_test.relay, under_test.addresses)
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        port = listeners.bound_ports[-1]
        admitted = under_test.tasks.spawn(listeners.admit_newcomers(), name="admit newcomers")

        # When
        await listeners.stop_accepting()
        await listeners.bind([])
        await admitted

        # Then
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(BIND_HOST, port)


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_broker_in_doubt_is_believed_to_be_where_the_next_response_says(
    ports: tuple[int, int],
) -> None:
    """Only clients may ask a cluster that turns kproxy's own connections away."""
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: ports[0]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        await listeners.bind_newcomers([BackingBroker(5, "first", 9092)])
        before = dict(listeners.bound_ports)
        under_test.addresses.doubt()

        await listeners.bind_newcomers([BackingBroker(5, "second", 9093)])
        await listeners.bind_newcomers([BackingBroker(5, "third", 9094)])

        assert listeners.backing_brokers == {5: BackingBroker(5, "second", 9093)}
        assert listeners.bound_ports == before
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_two_clients_that_learn_of_a_broker_at_the_same_time_get_one_port(
    ports: tuple[int, int],
) -> None:
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: ports[0]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        newcomer = [BackingBroker(5, "broker", 9092)]

        await asyncio.gather(*(listeners.bind_newcomers(newcomer) for _ in range(3)))

        assert set(listeners.bound_ports) == {5}
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_broker_that_metadata_leaves_out_keeps_its_port_and_its_address(
    ports: tuple[int, int],
) -> None:
    """It may only be restarting, and its clients go on dialling it."""
    async with RelayUnderTest(upstream_port=1) as under_test:
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {5: ports[0], 6: ports[1]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        await listeners.bind([BackingBroker(5, "fifth", 9092), BackingBroker(6, "sixth", 9092)])

        await listeners.bind([BackingBroker(6, "sixth", 9092)])

        assert set(listeners.bound_ports) == {5, 6}
        assert listeners.backing_brokers[5] == BackingBroker(5, "fifth", 9092)
        assert under_test.addresses.address_of(5) is not None
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_port_that_a_response_opens_before_the_cluster_was_met_accepts_clients_too(
    ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look of kproxy itself at the cluster may take longer than anybody is held for."""
    monkeypatch.setattr(net_listeners, "HOLD_SECONDS", 0.01)

    async with RelayUnderTest(upstream_port=1) as under_test:
        # Given
        plan = PortPlan(BIND_HOST, 0, 1, "kproxy", {6: ports[0]})
        listeners = Listeners(plan, under_test.relay, under_test.addresses)
        listeners.hold_newcomers()
        await listeners.bind_bootstrap()
        await listeners.admit_newcomers()
        broker = BackingBroker(6, "sixth", 9094)

        # When
        await listeners.bind_newcomers([broker])
        await listeners.bind([broker])
        _, writer = await asyncio.open_connection(BIND_HOST, listeners.bound_ports[6])

        # Then
        await until(lambda: len(under_test.relay.connections) == 1)
        writer.close()
        await listeners.stop_accepting()


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_the_ports_are_known_still_while_the_process_drains() -> None:
    """`/api/v1/status` tells of them."""
    async with RelayUnderTest(upstream_port=1) as under_test:
        before = dict(under_test.listeners.bound_ports)

        await under_test.listeners.stop_accepting()

        assert before
        assert under_test.listeners.bound_ports == before
