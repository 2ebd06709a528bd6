"""Remembering what was made of a key, in a bounded number of bytes.

Group ids and client ids are text of clients, of up to 32,767 bytes each: a cache that counts its entries alone would
hold gigabytes if somebody wished it so. Almost all ids are short; what is made of a long one is made again each time.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, cast

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
