"""`Principal`: who a client proved to be (Kafka's KafkaPrincipal)."""

from dataclasses import dataclass
from typing import Final

USER: Final = "User"
"""The type of every principal that Kafka's own authentication makes."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A type and a name, as access control lists name it: `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        """Return it as Kafka writes it."""
        return f"{self.kind}:{self.name}"


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""Whoever connects without proof of who it is (KafkaPrincipal.ANONYMOUS)."""
