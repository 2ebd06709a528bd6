"""Going through very much on the event loop without holding it up."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 1_000
"""So many things that take a microsecond or two each are about as long as an answer may hold up others."""


async def in_turns(items: Iterable[T], *, at_once: int = AT_ONCE) -> AsyncIterator[T]:
    """Yield `items`, and let whoever waits for the proxy have a turn after every `at_once` of them.

    They must not change meanwhile: a view of a dictionary that others write to is copied first.
    """
    for count, each in enumerate(items, start=1):
        yield each
        if count % at_once == 0:
            await asyncio.sleep(0)
