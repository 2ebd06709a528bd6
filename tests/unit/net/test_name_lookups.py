import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pytest

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.name_lookups import ANEW_AFTER_S, MOST_OF_ONE_NAME, NameLookups, lookups_of_this_loop
from kproxy.settings.addresses import HostPort
from tests.event_loops import BOTH_LOOPS

LONG_MS: Final = 10_000
BRIEF_MS: Final = 30
FOUND: Final = [("192.0.2.1", socket.AF_INET)]


class NameServer:
    """Says nothing about the names in `silent` until it is told to, and answers all others at once."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self.asked: list[str] = []
        self.error: Exception | None = None
        self._speaks = threading.Event()

    def answer(self, host: str) -> Sequence[object]:
        self.asked.append(host)
        if host in self.silent:
            self._speaks.wait()
        if self.error is not None:
            raise self.error
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]

    def speak(self) -> None:
        """Answer everything that was asked."""
        self.silent.clear()
        self._speaks.set()


@pytest.fixture
def server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.speak()


def named(host: str) -> HostPort:
    return HostPort(host, 9092)


async def refusal_of(lookups: NameLookups, host: str, timeout_ms: int = BRIEF_MS) -> BrokerFailure:
    with pytest.raises(BrokerFailure) as failure:
        await lookups.addresses_of(named(host), timeout_ms=timeout_ms)
    return failure.value


def begin(lookups: NameLookups, host: str) -> asyncio.Task[list[tuple[str, int]]]:
    found = lookups.addresses_of(named(host), timeout_ms=LONG_MS)
    return asyncio.ensure_future(found)  # noqa: TID251 - awaited by the test


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_the_addresses_of_a_name_are_found(server: NameServer) -> None:
    assert await NameLookups(server.answer).addresses_of(named("kafka"), timeout_ms=LONG_MS) == FOUND


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_lookup_that_nobody_answers_ends_in_time_and_says_so(server: NameServer) -> None:
    # Given
    server.silent.add("silent")

    # When
    failure = await refusal_of(NameLookups(server.answer), "silent")

    # Then
    assert failure.reason == "lookup_timeout"
    assert str(failure) == (
        f"the name 'silent' was not resolved within {BRIEF_MS} ms; see whether the name servers of this host answer"
    )


async def test_a_name_that_nobody_answers_for_holds_no_other_up(server: NameServer) -> None:
    # Given
    lookups = NameLookups(server.answer, most_at_once=2)
    server.silent.add("silent")
    for _ in range(20):
        await refusal_of(lookups, "silent", timeout_ms=1)

    # When
    found = await lookups.addresses_of(named("quick"), timeout_ms=LONG_MS)

    # Then
    assert found == FOUND
    assert server.asked == ["silent", "quick"]


async def test_who_asks_for_a_name_that_is_being_looked_up_gets_the_same_answer(server: NameServer) -> None:
    # Given
    lookups = NameLookups(server.answer)
    server.silent.add("slow")
    await refusal_of(lookups, "slow")
    waiting = asyncio.gather(*(begin(lookups, "slow") for _ in range(3)))
    await until(lambda: bool(server.asked))

    # When
    server.speak()

    # Then
    assert await waiting == [FOUND] * 3
    assert server.asked == ["slow"]


async def test_a_name_is_looked_up_anew_when_the_last_lookup_is_over(server: NameServer) -> None:
    # Given
    lookups = NameLookups(server.answer)
    await lookups.addresses_of(named("kafka"), timeout_ms=LONG_MS)

    # When
    await lookups.addresses_of(named("kafka"), timeout_ms=LONG_MS)

    # Then
    assert server.asked == ["kafka", "kafka"]


async def test_who_is_cancelled_ends_the_lookup_for_nobody_else(server: NameServer) -> None:
    # Given
    lookups = NameLookups(server.answer)
    server.silent.add("slow")
    first, second = begin(lookups, "slow"), begin(lookups, "slow")
    await until(lambda: bool(server.asked))

    # When
    first.cancel()

    # Then
    await asyncio.wait({first})
    server.speak()
    assert await second == FOUND


async def test_beyond_the_bound_lookups_wait_for_one_that_ends(server: NameServer) -> None:
    # Given
    lookups = NameLookups(server.answer, most_at_once=2)
    server.silent |= {"first", "second"}
    hanging = [begin(lookups, name) for name in ("first", "second")]
    await until(lambda: len(server.asked) == 2)
    failure = await refusal_of(lookups, "given up")
    waiting = begin(lookups, "third")
    await asyncio.sleep(0)
    assert len(server.asked) == 2

    # When
    server.speak()

    # Then
    assert await waiting == FOUND
    assert await asyncio.gather(*hanging) == [FOUND, FOUND]
    assert sorted(server.asked) == ["first", "second", "third"]
    assert failure.reason == "lookup_timeout"
    assert str(failure).startswith(
        f"the name 'given up' was not looked up within {BRIEF_MS} ms: 2 others are"
    )


async def test_a_name_whose_lookup_hangs_for_long_is_looked_up_again_a_few_times(server: NameServer) -> None:
    # Given
    now_s = 0.0
    lookups = NameLookups(server.answer, now_s=lambda: now_s)
    server.silent.add("silent")
    for _ in range(2 * MOST_OF_ONE_NAME):
        await refusal_of(lookups, "silent", timeout_ms=1)
        await refusal_of(lookups, "silent", timeout_ms=1)
        now_s += ANEW_AFTER_S

    # When
    asked_count = len(server.asked)

    # Then
    assert asked_count == MOST_OF_ONE_NAME


async def test_when_the_name_server_is_back_a_name_that_hung_is_found(server: NameServer) -> None:
    # Given
    now_s = 0.0
    lookups = NameLookups(server.answer, now_s=lambda: now_s)
    server.silent.add("silent")
    await refusal_of(lookups, "silent")
    server.silent.clear()
    now_s += ANEW_AFTER_S

    # When
    found = await lookups.addresses_of(named("silent"), timeout_ms=LONG_MS)

    # Then
    assert found == FOUND


async def test_a_name_that_does_not_exist_is_told_with_the_resolvers_words(server: NameServer) -> None:
    # Given
    server.error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    # When
    failure = await refusal_of(NameLookups(server.answer), "nobody", timeout_ms=LONG_MS)

    # Then
    assert failure.reason == "unresolvable"
    assert str(failure) == "the name 'nobody' cannot be resolved: Name or service not known"


@pytest.mark.parametrize("name", ["broker..example", "a" * 64 + ".example"])
async def test_a_name_that_can_be_none_is_told_at_once(server: NameServer, name: str) -> None:
    # When
    failure = await refusal_of(NameLookups(server.answer), name, timeout_ms=LONG_MS)

    # Then
    assert failure.reason == "unresolvable"
    assert str(failure).startswith(f"{name!r} can be no host name: ")
    assert server.asked == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_an_address_in_numbers_needs_nobody(server: NameServer, address: str) -> None:
    # When
    found = await NameLookups(server.answer, most_at_once=0).addresses_of(named(address), timeout_ms=LONG_MS)

    # Then
    assert [host for host, _ in found] == [address]
    assert server.asked == []


async def test_where_no_thread_can_be_had_that_is_said(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lookups = NameLookups(server.answer)
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", no_thread)

        # When
        failure = await refusal_of(lookups, "kafka", timeout_ms=LONG_MS)

    # Then
    assert failure.reason == "unresolvable"
    assert str(failure) == "the name 'kafka' cannot be resolved: can't start new thread"
    assert await lookups.addresses_of(named("kafka"), timeout_ms=LONG_MS) == FOUND


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_all_who_look_names_up_in_a_loop_share_the_bound() -> None:
    assert lookups_of_this_loop() is lookups_of_this_loop()


def test_a_process_ends_though_a_lookup_hangs() -> None:
    # Given
    program = """
import asyncio, socket, threading
from kproxy.net.dialing import connect
from kproxy.net.broker_failures import BrokerFailure
from kproxy.settings.addresses import HostPort

real = socket.getaddrinfo

def hang(host, *args, **keywords):
    if host == "silent" and "flags" not in keywords:
        threading.Event().wait()
    return real(host, *args, **keywords)

socket.getaddrinfo = hang

async def dial():
    try:
        await connect(HostPort("silent", 9092), asyncio.Protocol, timeout_ms=2_000)
    except BrokerFailure as failure:
        print(failure.reason)

asyncio.run(dial())
"""

    # When
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )

    # Then
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "lookup_timeout\n", "")
