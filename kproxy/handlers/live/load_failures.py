"""Why a share-partition could not be loaded, as clients are told of it: the errors of the state log, translated.

`LoadFailures` remembers the last ones for people.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kproxy.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    NotCoordinator,
    SharePartitionElsewhere,
    ShareStateNotReadable,
    ShareStateStillLoading,
)
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.actors import cut_text

MOST_KEPT: Final = 256
"""Failures that are remembered, the last ones. A key may have a group id of 32 kB."""
KEPT_MS: Final = 60_000
"""For so long: whoever fetches tries it again and again."""


class LoadFailures:
    """Why share-partitions could not be loaded the last time, for people who ask why nothing is delivered."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[SharePartitionKey, tuple[str, int]] = {}

    def note(self, key: SharePartitionKey, failure: Exception | None, now_ms: int) -> None:
        """Note how a load ended; what is tried anew without a word to clients is no failure."""
        self._kept.pop(key, None)
        if failure is None or isinstance(failure, ShareStateStillLoading):
            return
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = cut_text(str(failure)), now_ms

    def text(self, key: SharePartitionKey, now_ms: int) -> str:
        """Return that a load failed, when and why; empty where none did lately."""
        said, failed_ms = self._kept.get(key, ("", 0))
        age_ms = now_ms - failed_ms
        return (
            f"it could not be loaded {age_ms / 1000:.1f} s ago: {said}" if said and age_ms < KEPT_MS else ""
        )


@contextmanager
def told_to_clients(key: SharePartitionKey) -> Iterator[None]:
    """Turn what the logs say while a share-partition is loaded into what is told of it.

    - ShareStateStillLoading: a slot is being replayed, or the state was initialized anew, deleted or loaded by another
      process since it was read.
    - SharePartitionElsewhere: another process took the slot over.
    - ShareStateNotReadable: the state log did not answer.
    """
    try:
        yield
    except CoordinatorLoadInProgress as loading:
        raise ShareStateStillLoading(f"the slot of {key} is being replayed") from loading
    except NotCoordinator as moved:
        raise SharePartitionElsewhere(f"another process owns {key}: {moved}") from moved
    except CoordinatorNotAvailable as failure:
        raise ShareStateNotReadable(f"the state of {key} cannot be read: {failure}") from failure
    except (FencedLeaderEpoch, FencedStateEpoch, InvalidRequest) as overtaken:
        raise ShareStateStillLoading(f"the state of {key} was changed meanwhile: {overtaken}") from overtaken
