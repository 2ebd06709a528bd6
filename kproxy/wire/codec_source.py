"""Python text under construction: indentation, fresh names, and the objects that the text refers to."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from construct import Construct

from kproxy.wire.codec_runtime import array_methods
from kproxy.wire.message_schema import MessagePart
from kproxy.wire.primitives import UUID, Array, FixedWidth


class CodecSource:
    """The functions of one codec, and `namespace`, in which their text must be executed."""

    def __init__(self) -> None:
        self.namespace: Final[dict[str, object]] = {}
        self._lines: Final[list[str]] = []
        self._depth = 0
        self._count = 0

    @property
    def text(self) -> str:
        """Everything written so far."""
        return "\n".join([*self._lines, ""])

    def line(self, text: str) -> None:
        """Append one line at the current indentation."""
        self._lines.append(f"{'    ' * self._depth}{text}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append `head` and a colon, and indent what is written inside of the context."""
        self.line(f"{head}:")
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, name: str) -> str:
        """Return a variable name that was not used before and says what it holds."""
        self._count += 1
        return f"{name}_{self._count}"

    def constant(self, name: str, value: object) -> str:
        """Make `value` known to the text; return its name: `name`, or one like it if that is taken."""
        while self.namespace.setdefault(name, value) is not value:
            name = f"{name}_"
        return name

    def struct_method(self, method: str, codes: str) -> str:
        """Return the name under which the text finds that method of the big-endian struct of `codes`."""
        name = f"{method}_{_spelled(codes)}"
        self.namespace.setdefault(name, getattr(struct.Struct(f">{codes}"), method))
        return name

    def array_methods(self, method: str, before: str, element: str, after: str) -> str:
        """Return the name under which the text finds that table of `codec_runtime`."""
        name = "_".join(part for part in (method, before, "N", element, after) if part)
        return self.constant(_spelled(name), array_methods(method, before, element, after))

    def default(self, value: object) -> str:
        """Return an expression for the default of a field: a fresh list or struct where it is one."""
        match value:
            case None | bool() | int() | float() | str() | bytes():
                return repr(value)
            case tuple() | list():
                assert not value, "no schema has a default with elements"
                return repr(value)
            case _:
                struct_class = type(value)
                return f"{self.constant(struct_class.__name__, struct_class)}()"

    def comparand(self, value: object) -> str:
        """Return an expression that equals the default of a field, made once where that is a struct."""
        if isinstance(value, MessagePart):
            return self.constant(f"default_{type(value).__name__}", value)
        return self.default(value)


def spans_numbers(construct: Construct | None) -> bool:
    """Whether `construct` is an array whose elements one struct can hold: all of fixed width but uuids."""
    return (
        isinstance(construct, Array)
        and isinstance(construct.element, FixedWidth)
        and construct.element is not UUID
    )


def _spelled(codes: str) -> str:
    """Return struct codes as part of a Python name."""
    return codes.replace("?", "bool")
