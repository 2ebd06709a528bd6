"""Going through very much on the event loop without holding it up."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeVar

from kproxy.admin.json_chunks import SLICE_S
from kproxy.handlers.live.pauses import let_other_looks_go_on

T = TypeVar("T")

AT_ONCE: Final = 1_000
"""So many things that take a microsecond or two each are about as long as an answer may hold up others."""

AT_FIRST: Final = 64
"""So many are sorted before it is known how long that takes: texts of 32 kB may differ in their last letter."""


async def in_turns(
    items: Iterable[T], *, at_once: int = AT_ONCE, now_s: Callable[[], float] = time.perf_counter
) -> AsyncIterator[T]:
    """Yield `items`, and let whoever waits for the proxy have a turn after `at_once` of them, or after SLICE_S.

    Of all who go through something so one goes on in a turn of the loop. The items must not change meanwhile: a view
    of a dictionary that others write to is copied first.
    """
    begun_s = now_s()
    for count, each in enumerate(items, start=1):
        yield each
        if count % at_once == 0 or now_s() - begun_s >= SLICE_S:
            await let_other_looks_go_on()
            begun_s = now_s()


async def in_order(
    items: Iterable[T],
    key: Callable[[T], Any],
    *,
    reverse: bool = False,
    at_once: int = AT_ONCE,
    now_s: Callable[[], float] = time.perf_counter,
) -> Iterator[T]:
    """Return `items` in the order of `key`, in which each is found when it is asked for: to be gone through `in_turns`.

    It is the order of `sorted`: what is equal stays as it came, also where `reverse` has the largest come first.
    They are sorted in portions of `at_once`, fewer where these take longer than half of SLICE_S, with turns for others
    in between, and merged. The items must not change meanwhile.
    """
    remaining = iter(items)
    portions: list[list[T]] = []
    size = min(AT_FIRST, at_once)
    begun_s = now_s()
    while portion := sorted(islice(remaining, size), key=key, reverse=reverse):
        portions.append(portion)
        took_s = now_s() - begun_s
        size = max(size // 2, 1) if took_s > SLICE_S / 2 else min(size * 2, at_once)
        await let_other_looks_go_on()
        begun_s = now_s()
    return merge(*portions, key=key, reverse=reverse)
