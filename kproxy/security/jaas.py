"""`sasl.jaas.config` as Kafka's clients have it: the login module, and the options that say who the client is.

Source: `JaasConfig`, which reads one entry: `MODULE required NAME="VALUE" …;`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_ENTRY: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*);\s*",
    re.DOTALL | re.IGNORECASE,
)
_OPTION: Final = re.compile(
    r"""\s*(?P<name>[\w.-]+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s;"']+))""",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_NAMED_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module, by its class without the package, and its options. Secret."""

    module: str
    options: Mapping[str, str]


def read_jaas(text: str) -> JaasEntry:
    """Return the entry in `text`. Raises ValueError, which does not say what stands there: it is secret."""
    found = _ENTRY.fullmatch(text)
    if found is None:
        raise ValueError(
            'expected one login module, as ….PlainLoginModule required username="…" password="…";'
        )
    return JaasEntry(found["module"].rpartition(".")[2], dict(_options(found["options"])))


def _options(text: str) -> list[tuple[str, str]]:
    options, position, end = [], 0, len(text.rstrip())
    while position < end:
        found = _OPTION.match(text, position)
        if found is None:
            raise ValueError('expected options as NAME="VALUE" behind the login module')
        quoted = found["double"] if found["double"] is not None else found["single"]
        options.append((found["name"], found["bare"] if quoted is None else _ESCAPE.sub(_unescaped, quoted)))
        position = found.end()
    return options


def _unescaped(found: re.Match[str]) -> str:
    return _NAMED_ESCAPES.get(found[1], found[1])
