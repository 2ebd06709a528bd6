"""`AskedRights`: what a client may do as its own broker says, on its own connection, where that has to be asked.

The questions go out before the rights are checked (`learn`), the checks themselves wait for nothing. What could not be
learned is refused.
"""

from collections.abc import Callable, Collection
from typing import Final, Protocol

from kproxy.errors import CoordinatorNotAvailable


class AskedRights(Protocol):
    """What the client of one connection may do."""

    async def learn(
        self, operation: int, resource_type: int, names: Collection[str], on_asking: Callable[[], None]
    ) -> None:
        """Ask whether the client may do `operation` on each of the resources, unless that is known and fresh.

        What cannot be learned stays unknown. `on_asking` is called before each wait for the broker.
        """
        ...

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Tell whether the client may do `operation` on the resource called `name`.

        Raises:
            CoordinatorNotAvailable: that is not known.
        """
        ...


def go_on_asking() -> None:
    """Do nothing about it that a broker is asked now, which may take long."""


class NobodyToAsk:
    """The `Permissions` of clients whose own broker would have to be asked, while there is none at hand."""

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Raise CoordinatorNotAvailable."""
        del operation, resource_type, name
        raise CoordinatorNotAvailable(
            "what the client may do only its own connection to a broker tells, and that is at another kproxy process: "
            "let kproxy's principal DESCRIBE the cluster, so that all processes see the access control lists"
        )


ASK_BROKER: Final = NobodyToAsk()
"""An authorizer returns this where the client's own broker has to be asked."""
