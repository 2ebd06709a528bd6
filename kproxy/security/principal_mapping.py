"""`PrincipalMapping`: from the subject of a client's certificate to the name of its principal.

Source: Kafka's `SslPrincipalMapper` and `ssl.principal.mapping.rules` (KIP-371).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.errors import KproxyError
from kproxy.security.principal import USER, Principal

_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(?:.*?)"
_SPLITTER: Final = re.compile(rf"\s*({_RULE})\s*(,\s*|$)", re.ASCII)
_PARSER: Final = re.compile(_RULE, re.ASCII)
_REPLACEMENT_PART: Final = re.compile(
    r"\\(?P<escaped>.)|\$\{(?P<name>[a-zA-Z][a-zA-Z0-9]*)\}|\$(?P<digits>[0-9]+)|(?P<plain>[^\\$]+)",
    re.DOTALL,
)


_JAVAS_GROUP: Final = re.compile(r"\(\?<(?=[a-zA-Z])")
"""How Java begins a group with a name, and look-behinds are none."""


class InvalidMappingRule(KproxyError):
    """A rule cannot be used. `kproxy run` and `kproxy config validate` print why, and end."""


class NoMatchingRule(KproxyError):
    """No rule fits the subject of a certificate. The client is turned away, as Kafka's brokers do."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern` is None for DEFAULT. Parts of the replacement are text, or the group that stands there."""

    pattern: re.Pattern[str] | None = None
    parts: Sequence[str | int] = ()
    case: str = ""

    def name_of(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        name = self.pattern.sub(self._replaced, subject)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)

    def _replaced(self, found: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else (found[part] or "") for part in self.parts)


class PrincipalMapping:
    """The rules in their order: the first that fits a subject makes its name.

    Patterns are Python's, which agree with Java's in all that subjects need; one that only Java reads is refused.

    Raises:
        InvalidMappingRule: says which rule cannot be read, and why.
    """

    def __init__(self, rules: str) -> None:
        self._text = rules
        self._rules = [rule for text in _split(rules) for rule in _parsed(text)]

    def name_of(self, subject: str) -> str:
        """Return the name for a subject in the form of RFC 2253, most specific part first. Raises NoMatchingRule."""
        for rule in self._rules:
            name = rule.name_of(subject)
            if name is not None:
                return name
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules fits {subject!r}: {self._text}")

    def principal_of(self, subject: str) -> Principal:
        """Return the principal for a subject. Raises NoMatchingRule."""
        return Principal(USER, self.name_of(subject))


def _split(rules: str) -> list[str]:
    return [found[1] for found in _SPLITTER.finditer(rules.strip())]


def _parsed(text: str) -> list[_Rule]:
    """Return the rule that `text` is; none for an empty one."""
    found = _PARSER.match(text)
    assert found is not None, "the last alternative matches nothing at all"
    if found.end() != len(text):
        raise InvalidMappingRule(
            f"ssl.principal.mapping.rules has {text!r}: expected DEFAULT or RULE:pattern/replacement/ with L or U "
            "behind it at most"
        )
    if found[1] is not None:
        return [_Rule()]
    if found[2] is None:
        return []
    pattern = _compiled(found[2], text)
    return [_Rule(pattern, _parts(found[3], pattern, text), found[4])]


def _compiled(pattern: str, rule: str) -> re.Pattern[str]:
    try:
        return re.compile(_JAVAS_GROUP.sub("(?P<", pattern), re.ASCII)
    except re.error as error:
        raise InvalidMappingRule(
            f"ssl.principal.mapping.rules has {rule!r}, whose pattern cannot be read: {error}"
        ) from error


def _parts(replacement: str, pattern: re.Pattern[str], rule: str) -> list[str | int]:
    """Return what `Matcher.appendReplacement` would put there, in parts."""
    parts: list[str | int] = []
    end = 0
    for found in _REPLACEMENT_PART.finditer(replacement):
        if found.start() != end:
            break
        end = found.end()
        parts += _part(found, pattern, rule)
    if end != len(replacement):
        raise InvalidMappingRule(
            f"ssl.principal.mapping.rules has {rule!r}: in a replacement $ stands before a number, and \\ before any "
            "character"
        )
    return parts


def _part(found: re.Match[str], pattern: re.Pattern[str], rule: str) -> list[str | int]:
    if found["digits"] is not None:
        return _group_and_rest(found["digits"], pattern, rule)
    if found["name"] is not None:
        if found["name"] not in pattern.groupindex:
            raise InvalidMappingRule(
                f"ssl.principal.mapping.rules has {rule!r}: there is no group {found['name']!r}"
            )
        return [pattern.groupindex[found["name"]]]
    return [found["escaped"] or found["plain"]]


def _group_and_rest(digits: str, pattern: re.Pattern[str], rule: str) -> list[str | int]:
    """Return the group that the most digits name, and what is left of them.

    Where there are groups, but not that one, Kafka takes it for text (`escapeLiteralBackReferences`).
    """
    count = next(
        (length for length in range(len(digits), 0, -1) if _is_group(digits[:length], pattern.groups)), 0
    )
    if count:
        return [int(digits[:count]), digits[count:]]
    if not pattern.groups:
        raise InvalidMappingRule(
            f"ssl.principal.mapping.rules has {rule!r}: ${digits} names a group, and there is none"
        )
    return [f"${digits}"]


def _is_group(digits: str, last_group: int) -> bool:
    # What begins with 0 is the whole match: Java takes further digits only as long as they make a group.
    return int(digits) <= last_group and (len(digits) == 1 or int(digits) > 0)
