"""The answers of several processes to one question, taken apart and made one. Pure.

An answer of a list has one item a line, as `views.envelope_of_texts` writes it. Items are passed on as text: of each
only the group id at its beginning is read. A group is one process's, so its items come from one answer alone.
"""

import heapq
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from operator import itemgetter
from typing import Any, Final

from kproxy.admin.peer_views import PeerAnswer, PeerSilent
from kproxy.admin.queries import NothingThere
from kproxy.wording import counted

SLOTS_TOLD: Final = "slotsTold"
"""The field beside the items of a local answer that has the numbers of the slots which it tells of."""

_GROUP_FIRST: Final = '{"groupId": '
_HEAD_END: Final = '"items": ['
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Part:
    """What one process tells: items as text, in the order of their groups, and beside them `facts`.

    `name` is empty where `doubt` names the process.
    `missing` says that it has nothing of what was asked for. `doubt` says why it may not be all; empty if it is.
    """

    name: str
    texts: Iterable[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    missing: NothingThere | None = None
    doubt: str = ""
    is_own: bool = False

    @property
    def slots_told(self) -> frozenset[int]:
        """The slots whose groups it told of."""
        return frozenset(self.facts.get(SLOTS_TOLD, ()))


def part_of(name: str, answer: PeerAnswer) -> Part:
    """Return what the process `name` told. Raises PeerSilent: it refused to, or cannot be understood."""
    text = answer.body.decode("utf-8", "replace")
    try:
        if answer.status == HTTPStatus.OK:
            return _listed_part(name, text)
        facts = json.loads(text)
        refusal = facts["items"][0]
        if answer.status == HTTPStatus.NOT_FOUND:
            missing = NothingThere(str(refusal["missing"]), names=refusal["names"], depth=refusal["depth"])
            return Part(name, (), facts, missing, str(facts.get("unavailable", "")))
        message = str(refusal["message"])
    except (ValueError, LookupError, TypeError, AttributeError):
        raise PeerSilent(f"{name} answered {answer.status}, and nothing that can be understood") from None
    raise PeerSilent(f"{name}: {message}")


def items_of(part: Part) -> Sequence[Mapping[str, Any]]:
    """Return the items of a part, decoded: for lists that are short."""
    return [json.loads(text) for text in part.texts]


def in_group_order(parts: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yield the items of all parts by group id; those of a group that several tell of from the first of these."""
    last_group, last_part = "", -1
    for group_id, number, text in heapq.merge(*map(_keyed, range(len(parts)), parts), key=itemgetter(0)):
        if group_id != last_group or last_part < 0:
            last_group, last_part = group_id, number
        if number == last_part:
            yield text


def doubts_of(parts: Iterable[Part], slots: Collection[int]) -> str:
    """Return why the parts together may not be the whole truth about `slots`; empty if they are."""
    doubts: dict[str, list[str]] = {}
    told: set[int] = set()
    for part in parts:
        told |= part.slots_told
        if part.doubt:
            doubts.setdefault(part.doubt, []).append(part.name)
    untold = sorted(set(slots) - told)
    if untold and not doubts:
        number = counted(len(untold), "slot")
        return f"{number} went from one process to another while this was asked, slot {untold[0]} first; ask again"
    return "; ".join(": ".join(filter(None, (", ".join(names), doubt))) for doubt, names in doubts.items())


def _listed_part(name: str, text: str) -> Part:
    head_end, items_end = text.find("\n"), text.rstrip("\n").rfind("\n")
    head = text[: max(head_end, 0)]
    if not head.endswith(_HEAD_END):
        raise ValueError("another form than that of a list")
    facts = json.loads(head + text[items_end:])
    doubt = str(facts.get("unavailable", ""))
    return Part(name, _lines(text, head_end + 1, items_end), facts, None, doubt)


def _lines(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the items between two places, one a line: none of them is found before it is due."""
    while start < end:
        line_end = text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        yield text[start:line_end].removesuffix(",")
        start = line_end + 1


def _keyed(number: int, texts: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    for text in texts:
        yield _group_of(text), number, text


def _group_of(text: str) -> str:
    if not text.startswith(_GROUP_FIRST):
        return ""
    group_id, _ = _DECODER.raw_decode(text, len(_GROUP_FIRST))
    return str(group_id)
