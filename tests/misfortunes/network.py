"""Hosts on one machine with a router between them that can lose every packet between any two of them.

    brokers 198.51.100.10, clients 198.51.100.20 ──── router ──── 192.0.2.2, .6, .10 … one kproxy each

The program that has entered the namespaces (see `tests.compatibility.namespaces`) is on the host of the brokers and the
clients. What is lost is lost without a word: connections stay open, and new ones are not refused.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Final, Self

from tests.compatibility.namespaces import (
    BROKERS_ADDRESS,
    Command,
    entering,
    link,
    new_host,
    run_command,
    run_ip,
    set_forwarding,
)

CLIENTS_ADDRESS: Final = "198.51.100.20"
ROUTER_ADDRESS: Final = "198.51.100.1"
KPROXIES: Final = "192.0.2.0/24"
TCP_TABLES: Final = ("sh", "-c", "cat /proc/net/tcp*")
ALL_SENT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
CUTS_FIRST: Final = "10"
"""The place of a cut among the router's rules: before all tables."""


def kproxy_address(number: int) -> str:
    """Return the address of the host of kproxy `number`, which counts from 0."""
    return f"192.0.2.{4 * number + 2}"


def _gateway(number: int) -> str:
    return f"192.0.2.{4 * number + 1}"


def sent_again(table: str) -> list[tuple[str, str]]:
    """Return the two hosts of each connection that waits to send again what was lost, of `/proc/net/tcp` and `tcp6`.

    A line has the addresses and ports in fields 2 and 3, the number of times that it was sent again in field 7. What
    Java has open are IPv6 sockets: the last four bytes are the address.
    """
    lines = [line.split() for line in table.splitlines()]
    return [(_host(line[1]), _host(line[2])) for line in lines if line[0] != "sl" and int(line[6], 16) > 0]


def _host(address_and_port: str) -> str:
    return socket.inet_ntoa(bytes.fromhex(address_and_port.partition(":")[0][-8:])[::-1])


class FleetNetwork:
    """The hosts, from `with` to its end, for a program on the brokers' host."""

    def __init__(self, kproxies: int) -> None:
        self._kproxy_count = kproxies
        self._holders = ExitStack()
        self._router: Command = ()
        self._kproxies: list[Command] = []

    def on_kproxy_host(self, number: int, command: Command) -> Command:
        """Return the command that runs `command` on the host of a kproxy."""
        return [*self._kproxies[number], *command]

    @contextmanager
    def cut(self, one: str, other: str) -> Iterator[None]:
        """Lose every packet between two addresses meanwhile; at its end, nothing is lost of what was sent, either.

        TCP sends what was lost again, the later the longer that has been in vain: up to as long as the cut lasted after
        its end, and also for connections that were closed. Only then is it over for the hosts.
        """
        ways = ((one, other), (other, one))
        for source, target in ways:
            self._rule("add", source, target)
        try:
            yield
        finally:
            for source, target in ways:
                self._rule("del", source, target)
        self._wait_until_nothing_is_sent_again(one, other)

    def __enter__(self) -> Self:
        with self._holders:
            self._router = self._new_host("the router")
            self._link_brokers()
            for number in range(self._kproxy_count):
                self._kproxies.append(self._new_host(f"kproxy {number}'s host"))
                self._link_kproxy(number)
            self._holders = self._holders.pop_all()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._holders.close()

    def _wait_until_nothing_is_sent_again(self, one: str, other: str) -> None:
        deadline = time.monotonic() + ALL_SENT_SECONDS
        while waiting := [
            connection
            for prefix in ((), *self._kproxies)
            for connection in sent_again(run_command([*prefix, *TCP_TABLES]))
            if set(connection) == {one, other}
        ]:
            assert time.monotonic() < deadline, f"{len(waiting)} connections send still what was lost"
            time.sleep(POLL_SECONDS)

    def _new_host(self, name: str) -> Command:
        prefix = entering(self._holders.enter_context(new_host(name)).process_id)
        run_ip("link", "set", "lo", "up", prefix=prefix)
        return prefix

    def _link_brokers(self) -> None:
        run_ip("link", "set", "lo", "up")
        link("to-router", (), "to-brokers", self._router)
        for address in (BROKERS_ADDRESS, CLIENTS_ADDRESS):
            run_ip("addr", "add", f"{address}/24", "dev", "to-router")
        run_ip("addr", "add", f"{ROUTER_ADDRESS}/24", "dev", "to-brokers", prefix=self._router)
        # What a client or a test asks of a kproxy comes from elsewhere than what a broker says.
        run_ip("route", "add", KPROXIES, "via", ROUTER_ADDRESS, "src", CLIENTS_ADDRESS)
        set_forwarding(is_on=True, prefix=self._router)

    def _link_kproxy(self, number: int) -> None:
        own, name = self._kproxies[number], f"to-kproxy-{number}"
        link(name, self._router, "to-router", own)
        run_ip("addr", "add", f"{_gateway(number)}/30", "dev", name, prefix=self._router)
        run_ip("addr", "add", f"{kproxy_address(number)}/30", "dev", "to-router", prefix=own)
        run_ip("route", "add", "default", "via", _gateway(number), prefix=own)

    def _rule(self, what: str, source: str, target: str) -> None:
        way = ("from", source, "to", target, "blackhole", "pref", CUTS_FIRST)
        run_ip("rule", what, *way, prefix=self._router)
