"""`ReachCheck`: whether the members of a fleet can be reached at the addresses that they tell."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kproxy.fleet.member_metadata import MemberProfile
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.dialing import connect
from kproxy.settings.addresses import HostPort

DIAL_TIMEOUT_MS: Final = 1_000
"""All members are dialled at once; a new map waits for as long, when one cannot be reached."""

MOST_REMEMBERED: Final = 1_000

Visit = Callable[[MemberProfile], Awaitable[None]]


class ReachCheck:
    """Dials each process once with success; one that could not be reached is dialled for every map.

    Args:
        token: this process, which is not dialled.
        visit: dials a process, and says who this one is; raises BrokerFailure when it is not welcome there.
    """

    def __init__(self, token: str, visit: Visit | None = None) -> None:
        self._token = token
        self._reached: dict[str, None] = {}
        self._visit = visit or _knock

    async def unreachable(self, profiles: Mapping[str, MemberProfile]) -> Mapping[str, str]:
        """Return those of the members, given by member id, that cannot be reached, with the reasons."""
        reasons: dict[str, str] = {}

        async def dial(member_id: str, profile: MemberProfile) -> None:
            try:
                async with asyncio.timeout(2 * DIAL_TIMEOUT_MS / 1000):
                    await self._visit(profile)
            except BrokerFailure as failure:
                reasons[member_id] = str(failure)
            except TimeoutError:
                reasons[member_id] = f"{profile.host}:{profile.port} says nothing"
            else:
                self._remember(profile.token)

        async with asyncio.TaskGroup() as group:
            for member_id, profile in profiles.items():
                if profile.token != self._token and profile.token not in self._reached:
                    group.create_task(dial(member_id, profile))
        return reasons

    def _remember(self, token: str) -> None:
        self._reached[token] = None
        if len(self._reached) > MOST_REMEMBERED:
            del self._reached[next(iter(self._reached))]


async def _knock(profile: MemberProfile) -> None:
    """Dial a process and say nothing. Raises BrokerFailure."""
    connection = await connect(HostPort(profile.host, profile.port), _Visit, timeout_ms=DIAL_TIMEOUT_MS)
    connection.leave()


class _Visit(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def leave(self) -> None:
        assert self._transport is not None
        self._transport.close()
