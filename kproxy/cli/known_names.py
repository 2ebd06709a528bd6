"""Names of groups, topics and members for a shell that completes them: asked of a running kproxy, shortly.

Nobody wants to wait for a completion, or to read an error in the middle of a command: whoever does not answer in time,
or not as expected, has no names.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from typing import Any, Final

import click

from kproxy.cli.admin_port import default_admin_url
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.failures import ClientFailed

PARTITION_HELP: Final = (
    "Of this partition of the consumed topic only: its number, counted from 0, as in -p 3."
)
"""What `-p` is, wherever it narrows what is shown."""
DEADLINE_S: Final = 0.7
"""For all that is asked for one completion."""
MOST_NAMES: Final = 500

_WORD: Final = re.compile(r"[\w%+,./:@-][\w%+,./:@=-]*")
"""What no shell finds anything in: a group may be called `jobs;reboot`, and a completion is a command's text."""

_Names = Callable[[str, Mapping[str, Any]], Iterable[object]]
"""Yields names, asked of an admin port, for the parameters that are given already."""


def group_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the share groups whose ids begin so."""
    return _completions(_groups, context, incomplete)


def topic_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics, of the group if one is given, whose names begin so."""
    return _completions(_topics, context, incomplete)


def member_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the members, of the group if one is given, whose ids begin so."""
    return _completions(_members, context, incomplete)


def _completions(names: _Names, context: click.Context, incomplete: str) -> list[str]:
    admin_url = str(context.params.get("admin_url") or default_admin_url())
    given = dict(context.params)
    found: list[str] = []

    def ask() -> None:
        try:
            told = {str(name) for name in names(admin_url, given) if name}
        except (ClientFailed, LookupError, TypeError, ValueError, OSError):
            return
        found.extend(sorted(each for each in told if each.startswith(incomplete) and _is_word(each)))

    # A thread, because a server may send a byte now and then for as long as it likes.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(DEADLINE_S)
    return found[:MOST_NAMES]


def _is_word(name: str) -> bool:
    """Tell whether a shell takes a name for one word, as it is."""
    return _WORD.fullmatch(name) is not None


def _groups(admin_url: str, _given: Mapping[str, Any]) -> Iterable[object]:
    listed = _items(admin_url, "groups", query={"lag": "false"})
    return [each["groupId"] for each in listed]


def _topics(admin_url: str, given: Mapping[str, Any]) -> Iterable[object]:
    group = given.get("group")
    if group:
        [described] = _items(admin_url, "groups", str(group), query={"lag": "false"})
        return [each["topicName"] for each in described["sharePartitions"]]
    sessions = _items(admin_url, "sessions")
    return [topic["topicName"] for each in sessions for topic in each["partitions"]]


def _members(admin_url: str, given: Mapping[str, Any]) -> Iterable[object]:
    group = given.get("group")
    if group:
        [described] = _items(admin_url, "groups", str(group), query={"lag": "false"})
        return [each["memberId"] for each in described["members"]]
    return [each["memberId"] for each in _items(admin_url, "sessions")]


def _items(admin_url: str, *path: str, query: Mapping[str, str] | None = None) -> Iterable[Item]:
    return items_of(answer_of(admin_url, *path, query=query, timeout_s=DEADLINE_S))
