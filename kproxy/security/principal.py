"""`Principal`: who a client proved to be (Kafka's KafkaPrincipal)."""

from dataclasses import dataclass
from typing import Final, Self

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

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the principal that `text` is as Kafka writes it; a name may have colons, a type has none."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""Whoever connects without proof of who it is (KafkaPrincipal.ANONYMOUS)."""

KPROXY: Final = Principal("Kproxy", "")
"""Another process of the fleet that asks for itself. No client is of this type: only a peer can say that it is."""

UNKNOWN: Final = Principal("", "")
"""Somebody who proved to be somebody, and nobody here knows who. Such a client may do nothing that kproxy decides."""
