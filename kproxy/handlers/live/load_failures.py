"""Why a share-partition could not be loaded, as clients are told of it: the errors of the state log, translated."""

from collections.abc import Iterator
from contextlib import contextmanager

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
