"""What an expression of Prometheus names: metrics, their matchers, the labels it groups by. No more is parsed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SELECTOR: Final = re.compile(
    r"(?<![\w:$])(?P<name>(?:kproxy_|process_)\w+|up(?=[{ )\[]|$)|\w+:\w+:\w+)(?:\{(?P<matchers>[^}]*)\})?"
)
_MATCHER: Final = re.compile(r'\s*(?P<label>\w+)\s*(?P<operator>=~|!~|!=|=)\s*"(?P<value>[^"]*)"\s*(?:,|$)')
_LABEL_LIST: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MADE: Final = re.compile(r'\blabel_replace\(.*?,\s*"(\w+)",')
_STRING: Final = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class Matcher:
    """`label operator "value"`."""

    label: str
    operator: str
    value: str

    @property
    def words(self) -> tuple[str, ...]:
        """The values that it names, one by one; none where it is a pattern, or a variable of a dashboard."""
        if self.value.startswith("$"):
            return ()
        if self.operator in {"=", "!="}:
            return (self.value,)
        return tuple(value for value in self.value.split("|") if not re.search(r"[.*+?\[(]", value))


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric, or a recorded series, and what is asked of its labels."""

    name: str
    matchers: tuple[Matcher, ...] = ()


def selectors(expression: str) -> Iterator[Selector]:
    """Find every metric of kproxy, of its process, `up`, and every recorded series that `expression` asks for."""
    for found in _SELECTOR.finditer(_without_label_lists(expression)):
        yield Selector(found["name"], tuple(_matchers(found["matchers"] or "")))


def label_list(expression: str) -> frozenset[str]:
    """The labels that `expression` groups by, matches on, drops or makes."""
    plain = _STRING.sub('""', expression)
    listed = {label.strip() for labels in _LABEL_LIST.findall(plain) for label in labels.split(",")}
    return frozenset(listed | made_labels(expression)) - {""}


def made_labels(expression: str) -> frozenset[str]:
    """The labels that `expression` gives to series that do not have them."""
    return frozenset(_MADE.findall(expression.replace("\n", " ")))


def _matchers(text: str) -> Iterator[Matcher]:
    position = 0
    while text[position:].strip():
        found = _MATCHER.match(text, position)
        assert found is not None, f"not a list of matchers: {text[position:]!r}"
        yield Matcher(found["label"], found["operator"], found["value"])
        position = found.end()


def _without_label_lists(expression: str) -> str:
    return _LABEL_LIST.sub("", expression)
