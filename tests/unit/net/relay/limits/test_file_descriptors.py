"""Files that a process may open: how many there are, how many connections fit in, and what is done without any."""

import asyncio
import logging
import resource
import socket

import pytest

from kproxy.net.relay.limits.connection_quotas import UNLIMITED
from kproxy.net.relay.limits.file_descriptors import OpenFileWatch, connections_that_fit, open_file_limit
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.open_files import file_limit, no_files_left
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, request
from tests.worlds.backing import CountedThings


def test_the_soft_limit_becomes_the_hard_one() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with file_limit(hard // 2):
        limit = open_file_limit()
        assert limit == hard == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.parametrize(
    ("max_connections", "limit", "fitting"),
    [
        (2_000, 4_256, 2_000),
        (2_001, 4_256, 2_000),
        (UNLIMITED, 1_024, 384),
        (UNLIMITED, 100, 25),
        (UNLIMITED, resource.RLIM_INFINITY, UNLIMITED),
        (5, 1, 1),
    ],
)
def test_no_more_connections_are_let_in_than_there_are_files_for(
    max_connections: int, limit: int, fitting: int
) -> None:
    assert connections_that_fit(max_connections, limit) == fitting


@pytest.mark.parametrize(
    ("max_connections", "limit", "level", "fitting"),
    [
        (3_000, 4_256, "WARNING", 2_000),
        (UNLIMITED, 1_024, "WARNING", 384),
        (UNLIMITED, 4_256, "DEBUG", 2_000),
    ],
)
def test_connections_that_do_not_fit_are_told_of_with_what_to_do(
    caplog: pytest.LogCaptureFixture, max_connections: int, limit: int, level: str, fitting: int
) -> None:
    with caplog.at_level(logging.DEBUG, logger="kproxy.net.relay.limits"):
        connections_that_fit(max_connections, limit)

    (record,) = caplog.records
    assert (record.levelname, record.msg) == (level, "open_files_bound_connections")
    told = f"max.connections is {max_connections}, and {limit} open files are enough for {fitting}"
    assert told in str(vars(record))
    assert "LimitNOFILE=" in str(vars(record))


def test_want_of_files_is_counted_each_time_and_told_once_until_there_are_some_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    counted = CountedThings()
    watch = OpenFileWatch(counted)

    # When
    with caplog.at_level(logging.INFO):
        with no_files_left():
            watch.look()
            watch.look()
        watch.look()
        watch.look()

    # Then
    assert [record.msg for record in caplog.records] == ["no_open_files", "open_files_again"]
    assert counted.of("open_file_shortages") == 2


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_port_goes_on_after_there_were_no_files_for_those_who_connected() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        # Given
        loop = asyncio.get_running_loop()
        address = (BIND_HOST, under_test.listeners.bound_ports[-1])
        clients = [socket.socket() for _ in range(3)]
        for client in clients:
            client.setblocking(False)

        # When
        with no_files_left():
            for client in clients[:2]:
                await loop.sock_connect(client, address)
            await asyncio.wait_for(_turns(100), 5)
        await loop.sock_connect(clients[2], address)
        await loop.sock_sendall(clients[2], request(1))

        # Then
        assert await broker.until_received(len(request(1))) == request(1)
        for client in clients:
            client.close()


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
