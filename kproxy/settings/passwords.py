"""`Password`: a value that is never shown, as Kafka's `Password` is not."""

from typing import Final

from kproxy.settings.value_kinds import ValueKind

HIDDEN: Final = "[hidden]"
"""What stands in its place, in Kafka's words."""


class Password:
    """A secret that was configured; empty for none. What writes, logs or compares it by its text gets `HIDDEN`."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return HIDDEN if self._text else ""

    def reveal(self) -> str:
        """Return the secret itself, for whoever has to present it."""
        return self._text


def password() -> ValueKind[Password]:
    """A secret, or nothing. The text that is shown in its place is no password."""
    return ValueKind("a password", _password, str, is_secret=True)


def _password(text: str) -> Password:
    if text == HIDDEN:
        raise ValueError("expected the password itself: kproxy config show hides it")
    return Password(text)
