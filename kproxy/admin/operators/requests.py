"""`OperatorRequest`: what an operator asks for, checked before anybody does anything. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from kproxy.admin.queries import RefusedQuery
from kproxy.share.operators.settlement import OperatorAction

PATH: Final = "/api/v1/actions"
END_SESSION: Final = "end-session"
ACTIONS: Final = (*(action.value for action in OperatorAction), END_SESSION)
MOST_BYTES: Final = 4096
"""Of a request: a hundred ranges of offsets, or some more."""
MOST_SPANS: Final = 100
MOST_REASON: Final = 200
"""Characters; the log keeps 256 with who gave it."""
MOST_PATH: Final = 8192
"""Bytes of a path that another process is asked."""
_MOST_NAME: Final = 64
_OF_RECORDS: Final = ("topic", "partition", "offsets")
_LARGEST_OFFSET: Final = 2**63 - 1
_LARGEST_NUMBER: Final = 2**31 - 1
_FIELDS: Final = (
    *("action", "group", "topic", "partition", "offsets", "member", "node", "execute", "reason", "operator"),
)


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    """An action on records of one share-partition, or on the share sessions of a member.

    `topic` is a name or an id. `spans` are first and last offsets. `member_id` is whose sessions are ended, or who
    has to hold all of the records, empty for whoever does. Without `is_executed` it is only told what would change.
    `operator` is what whoever asks calls himself.
    """

    action: str
    group_id: str
    topic: str
    partition: int
    spans: tuple[tuple[int, int], ...]
    member_id: str
    node_id: int | None
    is_executed: bool
    reason: str
    operator: str

    def words(self, host: str) -> str:
        """Return what the state log keeps: what was done, who says that he did it, from where, and why."""
        return f"{self.action} by {self.operator or 'nobody'}@{host}: {self.reason}"


def request_of(body: bytes) -> OperatorRequest:
    """Return what the JSON of a request asks for. Raises RefusedQuery: the text says which field is wrong, and how."""
    if len(body) > MOST_BYTES:
        raise RefusedQuery(f"a request has {MOST_BYTES} bytes at most: give fewer offsets, or ranges of them")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedQuery("the body is no JSON") from None
    if not isinstance(fields, dict):
        raise RefusedQuery("the body is no JSON object")
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise RefusedQuery(f"unknown field {unknown[0]!r}; known: {', '.join(_FIELDS)}")
    asked = OperatorRequest(
        action=_action(fields),
        group_id=_text(fields, "group"),
        topic=_text(fields, "topic", otherwise=""),
        partition=_number(fields, "partition", otherwise=0),
        spans=_spans(fields),
        member_id=_text(fields, "member", otherwise=""),
        node_id=_number(fields, "node", otherwise=None),
        is_executed=_truth(fields, "execute"),
        reason=_text(fields, "reason", otherwise="", most=MOST_REASON).strip(),
        operator=_text(fields, "operator", otherwise="", most=_MOST_NAME),
    )
    _require_complete(asked, fields)
    return asked


def path_for_peer(body: bytes, host: str) -> str:
    """Return the path that asks another process for the same, for somebody at `host`. Raises RefusedQuery: too long."""
    path = f"{PATH}?{urlencode({'body': body.decode('utf-8', 'replace'), 'host': host})}"
    if len(path) > MOST_PATH:
        raise RefusedQuery(
            "another process serves the group, and that is too much to be passed on: fewer offsets"
        )
    return path


def asked_by_peer(path: str) -> tuple[bytes, str] | None:
    """Return body and host of what another process passes on; None for a path that asks something else."""
    parts = urlsplit(path)
    if parts.path != PATH:
        return None
    fields = parse_qs(parts.query)
    return fields.get("body", [""])[0].encode(), fields.get("host", [""])[0]


def _require_complete(asked: OperatorRequest, fields: Mapping[str, Any]) -> None:
    if asked.is_executed and not asked.reason:
        raise RefusedQuery("to execute it, give a reason: it is kept in the state log")
    is_end = asked.action == END_SESSION
    wanted = ("member",) if is_end else _OF_RECORDS
    other = _OF_RECORDS if is_end else ("node",)
    for name in wanted:
        if name not in fields:
            raise RefusedQuery(f"{asked.action} needs {name!r}")
    for name in other:
        if name in fields:
            raise RefusedQuery(f"{name!r} does not go with {asked.action}")


def _action(fields: Mapping[str, Any]) -> str:
    action = _text(fields, "action")
    if action not in ACTIONS:
        raise RefusedQuery(f"action={action!r}: expected {', '.join(ACTIONS)}")
    return action


def _text(
    fields: Mapping[str, Any], name: str, *, otherwise: str | None = None, most: int = MOST_BYTES
) -> str:
    text = fields.get(name, otherwise)
    if not isinstance(text, str) or (name in fields and not text) or not text.isprintable():
        raise RefusedQuery(f"{name}={text!r:.80}: expected printable text")
    if len(text) > most:
        raise RefusedQuery(f"{name}: expected {most} characters at most, and it has {len(text)}")
    return text


def _number(fields: Mapping[str, Any], name: str, *, otherwise: Any) -> Any:
    number = fields.get(name, otherwise)
    if name in fields and (type(number) is not int or not -1 <= number <= _LARGEST_NUMBER):
        raise RefusedQuery(f"{name}={number!r:.80}: expected a number")
    return number


def _truth(fields: Mapping[str, Any], name: str) -> bool:
    truth = fields.get(name, False)
    if not isinstance(truth, bool):
        raise RefusedQuery(f"{name}={truth!r:.80}: expected true or false")
    return truth


def _spans(fields: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    listed = fields.get("offsets", [])
    if not isinstance(listed, list) or ("offsets" in fields and not 0 < len(listed) <= MOST_SPANS):
        raise RefusedQuery(f"offsets: expected 1 to {MOST_SPANS} ranges such as [[4711, 4712]]")
    return tuple(_span(span) for span in listed)


def _span(span: object) -> tuple[int, int]:
    match span:
        case [int(first), int(last)] if (
            type(first) is type(last) is int and 0 <= first <= last <= _LARGEST_OFFSET
        ):
            return first, last
    raise RefusedQuery(f"offsets: {span!r:.80} is no range: expected [FIRST, LAST], both inclusive")
