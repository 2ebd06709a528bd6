"""Remembering what was made of a key, in a bounded number of bytes.

Group ids and client ids are text of clients, of up to 32,767 bytes each: a cache that counts its entries alone would
hold gigabytes if somebody wished it so. Almost all ids are short; what is made of a long one is made again each time,
or kept under its digest, where making it takes much longer than that.
Who keeps many keys of one group with a long id gives them one text (`SharedGroupIds`).
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from hashlib import blake2b
from typing import Any, Final, TypeVar, cast

from kproxy.share.identifiers import GroupId, SharePartitionKey

LONGEST_REMEMBERED: Final = 256
"""Characters, or bytes, that a key, or the group id of a share-partition, may have to be remembered."""

F = TypeVar("F", bound=Callable[..., Any])


def remember_short_texts(maxsize: int) -> Callable[[F], F]:
    """Return a decorator: up to `maxsize` results are kept, of calls whose first argument (text or bytes) is short."""

    def decorate(function: F) -> F:
        remembered = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def call(text: str | bytes | None, *rest: object) -> object:
            if text is not None and len(text) > LONGEST_REMEMBERED:
                return function(text, *rest)
            return remembered(text, *rest)

        return cast("F", call)

    return decorate


def remember_short_keys(maxsize: int) -> Callable[[F], F]:
    """Do the same where the first argument is a `SharePartitionKey`, of which the group id counts."""

    def decorate(function: F) -> F:
        remembered = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def call(key: Any, *rest: object) -> object:
            if len(key.group_id) > LONGEST_REMEMBERED:
                return function(key, *rest)
            return remembered(key, *rest)

        return cast("F", call)

    return decorate


def remember_by_digest(maxsize: int) -> Callable[[Callable[[str], int]], Callable[[str], int]]:
    """Return a decorator: the `maxsize` numbers that were used last are kept, of texts of any length.

    Some 300 bytes each, under a digest (BLAKE2b, 32 bytes) that takes 50 us for the longest group id. To be called from
    any thread.
    """

    def decorate(function: Callable[[str], int]) -> Callable[[str], int]:
        remembered: OrderedDict[bytes, int] = OrderedDict()

        @wraps(function)
        def call(text: str) -> int:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
            made = remembered.pop(digest, None)
            if made is None:
                made = function(text)
            remembered[digest] = made
            if len(remembered) > maxsize:
                remembered.popitem(last=False)
            return made

        return call

    return decorate


class SharedGroupIds:
    """One text of each long group id, for all keys that are kept: those that were decoded have one each."""

    __slots__ = ("_counts", "_texts")

    def __init__(self) -> None:
        self._texts: dict[GroupId, GroupId] = {}
        self._counts: dict[GroupId, int] = {}

    def __len__(self) -> int:
        """How many texts are kept."""
        return len(self._texts)

    def keep(self, key: SharePartitionKey) -> SharePartitionKey:
        """Return an equal key that is to be kept instead, until `drop` is called with one that equals it."""
        if len(key.group_id) <= LONGEST_REMEMBERED:
            return key
        text = self._texts.setdefault(key.group_id, key.group_id)
        self._counts[text] = self._counts.get(text, 0) + 1
        return key if text is key.group_id else key._replace(group_id=text)

    def drop(self, key: SharePartitionKey) -> None:
        """Note that a key is not kept any more; its text goes with the last one of its group."""
        if len(key.group_id) <= LONGEST_REMEMBERED:
            return
        self._counts[key.group_id] -= 1
        if not self._counts[key.group_id]:
            del self._counts[key.group_id], self._texts[key.group_id]

    def clear(self) -> None:
        """Drop all keys."""
        self._counts.clear()
        self._texts.clear()
