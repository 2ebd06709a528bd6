r"""Java's .properties format, read as UTF-8 and written back.

Source: `java.util.Properties.load`: a logical line is a key, then `=`, `:` or white space, then a value; a
line that ends in an odd number of backslashes goes on in the next; `#` and `!` begin comment lines; `\t`,
`\n`, `\r`, `\f` and `\uXXXX` are escapes, and before any other character a backslash only takes its meaning
away.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BLANKS: Final = " \t\f"
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.|\Z)", re.DOTALL)
_NAMED_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE_ESCAPE_LENGTH: Final = len("u0041")


@dataclass(frozen=True, slots=True)
class Property:
    """One logical line. `line` is the number, from 1, of the first line it stands on."""

    key: str
    value: str
    line: int


def read_properties(text: str) -> list[Property]:
    """Return every property in the order of the file, keys that stand there twice included."""
    return [_property(logical, line) for line, logical in _logical_lines(text)]


def property_line(key: str, value: str) -> str:
    """Return a line that `read_properties` reads back; `key` needs no escapes."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{key}=\\{escaped}" if escaped[:1] in tuple(_BLANKS) else f"{key}={escaped}"


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first_line = 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        content = natural.lstrip(_BLANKS)
        if not parts:
            if not content or content[0] in "#!":
                continue
            first_line = number
        if _goes_on(content):
            parts.append(content[:-1])
            continue
        yield first_line, "".join([*parts, content])
        parts.clear()
    if parts:
        yield first_line, "".join(parts)


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _property(logical_line: str, line: int) -> Property:
    key = _KEY.match(logical_line)
    assert key is not None, "the pattern matches the empty string"
    separator = _SEPARATOR.match(logical_line, key.end())
    assert separator is not None, "the pattern matches the empty string"
    return Property(_unescaped(key[0]), _unescaped(logical_line[separator.end() :]), line)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meaning, text)


def _meaning(escape: re.Match[str]) -> str:
    body = escape[1]
    if len(body) == _UNICODE_ESCAPE_LENGTH:
        return chr(int(body[1:], 16))
    return _NAMED_ESCAPES.get(body, body)
