"""Rights of which a client's own broker has to be asked, and what it tells is written by a test."""

import asyncio
from collections.abc import Callable, Collection

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.asked_rights import ASK_BROKER
from kproxy.handlers.authorization import EVERYTHING, Permissions
from kproxy.security.principal import Principal


class AskingAuthorizer:
    """Knows nothing itself; until `is_asking` everybody may do everything."""

    problem = ""

    def __init__(self, *, is_asking: bool = True) -> None:
        self.is_asking = is_asking

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        del principal, client_host
        return ASK_BROKER if self.is_asking else EVERYTHING

    async def wait_until_known(self) -> None:
        pass


class ScriptedRights:
    """What a broker tells when it is asked, and of what it was asked."""

    def __init__(self, *allowed: tuple[int, int, str]) -> None:
        self.allowed = set(allowed)
        self.known: dict[tuple[int, int, str], bool] = {}
        self.untold: set[int] = set()
        """Operations of which the broker says nothing."""
        self.may_tell: asyncio.Event | None = None
        """When the broker answers; None: nothing has to be waited for."""

    async def learn(
        self, operation: int, resource_type: int, names: Collection[str], on_asking: Callable[[], None]
    ) -> None:
        if self.may_tell is not None:
            on_asking()
            await self.may_tell.wait()
        for name in names:
            key = (operation, resource_type, name)
            if operation not in self.untold:
                self.known[key] = key in self.allowed

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        try:
            return self.known[operation, resource_type, name]
        except KeyError:
            raise CoordinatorNotAvailable("nobody asked") from None
