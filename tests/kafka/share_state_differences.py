"""Where kproxy's share coordinator answers otherwise than Kafka 4.3.1's, each with its reason and its simplest case.

Everything else has to be equal, and so operations are chosen at random with `is_answered_alike`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode
from tests.real_kafka.share_state_client import (
    Answer,
    Batch,
    Initialize,
    Operation,
    Read,
    Summarize,
    Write,
)

LATE_WRITE: Final = "4.4: a write that comes late moves neither the start offset nor the count back"
NEGATIVE_EPOCH: Final = "4.4: every negative epoch is refused; 4.3.1 lets -1 pass"
REPEATED: Final = "4.4: an initialization that repeats the stored one changes nothing"
REPEATED_OPEN: Final = (
    "one that leaves the start offset open repeats an initialization whose end nobody noted: it must not undo "
    "what was acknowledged since"
)
JOINED: Final = "4.4: equal neighbours are always joined"
IMPOSSIBLE: Final = "a record that no reader could make sense of is refused, not stored"
LAST_EPOCH: Final = "the last leader epoch is left to loads: nobody could follow another"
FORGOTTEN: Final = (
    "an initialization begins under leader epoch 0; so does it in 4.3.1's log, but not in its memory, which goes on "
    "fencing older leaders, and stores nothing for one that it knows, until it loads the log again"
)
NOTHING: Final = "a write that changes nothing writes nothing; 4.3.1 takes its count"

Essence = tuple[object, ...]
"""What two answers are compared by: an error code, or what a state is."""

BEGUN: Final = Initialize(1, 10)
GOOD: Final[Essence] = (ErrorCode.NONE,)
BAD: Final[Essence] = (ErrorCode.INVALID_REQUEST,)


@dataclass(frozen=True, slots=True)
class Difference:
    """After `given`, which is answered alike, `operation` is not: in its answer, or in what `seen_by` then shows."""

    reason: str
    given: tuple[Operation, ...]
    operation: Operation
    seen_by: Operation | None
    stock: Essence
    kproxy: Essence


def essence(answer: Answer) -> Essence:
    """What of an answer is compared in the table; batches as they come."""
    if answer.error_code or answer.start_offset is None:
        return (answer.error_code,)
    if answer.batches is not None:
        return (answer.state_epoch, answer.start_offset, *answer.batches)
    return (answer.state_epoch, answer.leader_epoch, answer.start_offset, answer.complete_count)


def joined(batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
    """The batches with equal neighbours joined."""
    result: list[Batch] = []
    for first, last, *state in batches:
        if result and result[-1][1] + 1 == first and [*result[-1][2:]] == state:
            first = result.pop()[0]  # noqa: PLW2901 - it begins where its neighbour did
        result.append((first, last, state[0], state[1]))
    return tuple(result)


def is_answered_alike(operation: Operation, state: Answer, *, highest_leader_epoch: int) -> bool:
    """Whether no difference of the table touches `operation`.

    `state` is what a summary has told, of a share-partition without a state that its start offset is open;
    `highest_leader_epoch` is the highest since there is a state.
    """
    match operation:
        case Initialize(state_epoch, start_offset):
            return state_epoch != state.state_epoch or start_offset not in {-1, state.start_offset}
        case Write():
            return _is_timely(operation, state) and _is_fenced_alike(operation, state, highest_leader_epoch)
        case Read():
            return _is_fenced_alike(operation, state, highest_leader_epoch)
        case _:
            return True


def _is_fenced_alike(operation: Read | Write, state: Answer, highest_leader_epoch: int) -> bool:
    assert state.leader_epoch is not None
    if highest_leader_epoch == state.leader_epoch:
        return True
    highest_unlike = highest_leader_epoch - isinstance(operation, Write)
    return not state.leader_epoch <= operation.leader_epoch <= highest_unlike


def _is_timely(write: Write, state: Answer) -> bool:
    assert state.start_offset is not None
    assert state.complete_count is not None
    count = write.complete_count if write.version else -1
    if write.start_offset == -1:
        return bool(write.batches) and count == state.complete_count
    if write.start_offset == state.start_offset:
        return count >= state.complete_count
    return write.start_offset > state.start_offset


DIFFERENCES: Final[Mapping[str, Difference]] = {
    "late-start-offset": Difference(
        LATE_WRITE,
        (BEGUN, Write(1, 0, 20, 3)),
        Write(1, 0, 15, 1),
        Summarize(),
        stock=(1, 0, 15, 1),
        kproxy=(1, 0, 20, 3),
    ),
    "late-batches": Difference(
        LATE_WRITE,
        (BEGUN, Write(1, 0, 20, 3)),
        Write(1, 0, 15, 1, ((16, 23, 2, 1),)),
        Read(0),
        stock=(1, 15, (16, 23, 2, 1)),
        kproxy=(1, 20, (20, 23, 2, 1)),
    ),
    "late-count": Difference(
        LATE_WRITE,
        (BEGUN, Write(1, 0, 10, 3)),
        Write(1, 0, 10, 2),
        Summarize(),
        stock=(1, 0, 10, 2),
        kproxy=(1, 0, 10, 3),
    ),
    "count-without-start-offset": Difference(
        LATE_WRITE,
        (BEGUN,),
        Write(1, 0, -1, 7, ((12, 12, 2, 1),)),
        Summarize(),
        stock=(1, 0, 10, 7),
        kproxy=(1, 0, 10, 0),
    ),
    "version-0-has-no-count": Difference(
        LATE_WRITE,
        (BEGUN, Write(1, 0, 10, 3)),
        Write(1, 0, 10, version=0),
        Summarize(),
        stock=(1, 0, 10, -1),
        kproxy=(1, 0, 10, 3),
    ),
    "nothing-to-write": Difference(
        NOTHING, (BEGUN,), Write(1, 0, -1), Summarize(), stock=(1, 0, 10, -1), kproxy=(1, 0, 10, 0)
    ),
    "initialize-again": Difference(
        REPEATED,
        (BEGUN, Write(1, 0, 10, 1, ((11, 11, 2, 1),))),
        BEGUN,
        Read(0),
        stock=(1, 10),
        kproxy=(1, 10, (11, 11, 2, 1)),
    ),
    "initialize-again-with-an-open-start-offset": Difference(
        REPEATED_OPEN,
        (BEGUN, Write(1, 0, 10, 1, ((11, 11, 2, 1),))),
        Initialize(1, -1),
        Read(0),
        stock=(1, -1),
        kproxy=(1, 10, (11, 11, 2, 1)),
    ),
    "equal-neighbours": Difference(
        JOINED,
        (BEGUN, Write(1, 0, 10, 0, ((10, 14, 0, 2), (15, 19, 0, 1)))),
        Write(1, 0, 10, 0, ((15, 19, 0, 2),)),
        Read(0),
        stock=(1, 10, (10, 14, 0, 2), (15, 19, 0, 2)),
        kproxy=(1, 10, (10, 19, 0, 2)),
    ),
    "initialize-state-epoch": Difference(NEGATIVE_EPOCH, (), Initialize(-1, 0), None, GOOD, BAD),
    "initialize-state-epoch-below": Difference(
        NEGATIVE_EPOCH, (BEGUN,), Initialize(-2, 0), None, (ErrorCode.FENCED_STATE_EPOCH,), BAD
    ),
    "read-leader-epoch": Difference(NEGATIVE_EPOCH, (BEGUN,), Read(-1), None, stock=(1, 10), kproxy=BAD),
    "read-leader-epoch-below": Difference(
        NEGATIVE_EPOCH, (BEGUN,), Read(-2), None, (ErrorCode.FENCED_LEADER_EPOCH,), BAD
    ),
    "write-state-epoch": Difference(NEGATIVE_EPOCH, (BEGUN,), Write(-1, 0, 10), None, GOOD, BAD),
    "write-leader-epoch": Difference(NEGATIVE_EPOCH, (BEGUN,), Write(1, -1, 10), None, GOOD, BAD),
    "write-leader-epoch-below": Difference(
        NEGATIVE_EPOCH, (BEGUN,), Write(1, -2, 10), None, (ErrorCode.FENCED_LEADER_EPOCH,), BAD
    ),
    "read-of-an-older-leader-after-an-initialization": Difference(
        FORGOTTEN,
        (BEGUN, Read(5), Initialize(2, 10)),
        Read(4),
        None,
        stock=(ErrorCode.FENCED_LEADER_EPOCH,),
        kproxy=(2, 10),
    ),
    "read-of-the-same-leader-after-an-initialization": Difference(
        FORGOTTEN,
        (BEGUN, Read(5), Initialize(2, 10)),
        Read(5),
        Summarize(),
        stock=(2, 0, 10, 0),
        kproxy=(2, 5, 10, 0),
    ),
    "write-of-an-older-leader-after-an-initialization": Difference(
        FORGOTTEN,
        (BEGUN, Read(5), Initialize(2, 10)),
        Write(2, 4, 10),
        None,
        (ErrorCode.FENCED_LEADER_EPOCH,),
        GOOD,
    ),
    "last-leader-epoch": Difference(LAST_EPOCH, (BEGUN,), Read(2**31 - 1), None, stock=(1, 10), kproxy=BAD),
    "initialize-start-offset": Difference(IMPOSSIBLE, (), Initialize(1, -2), None, GOOD, BAD),
    "write-start-offset": Difference(IMPOSSIBLE, (BEGUN,), Write(1, 0, -2), None, GOOD, BAD),
    "write-count": Difference(IMPOSSIBLE, (BEGUN,), Write(1, 0, 10, -2), None, GOOD, BAD),
    **{
        f"write-{name}": Difference(IMPOSSIBLE, (BEGUN,), Write(1, 0, 10, 0, (batch,)), None, GOOD, BAD)
        for name, batch in {
            "reversed-batch": (15, 13, 2, 1),
            "negative-offsets": (-4, -2, 2, 1),
            "negative-delivery-count": (12, 13, 2, -1),
            "acquired": (12, 13, 1, 1),
            "unknown-state": (12, 13, 7, 1),
        }.items()
    },
}
