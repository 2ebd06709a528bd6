"""Whatever is done to a share-partition and then refused as one: what was held before is held again."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.errors import ApiError
from kproxy.share.identifiers import MemberId
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateDelta
from tests.worlds.share_builders import ACCEPT, GAP, REJECT, RELEASE, a_share_partition, fetch, say

MEMBERS = st.sampled_from([MemberId("alice"), MemberId("bob")])
LIMITS = ShareLimits(delivery_count_limit=10, record_lock_duration_ms=30)
RECORDS = 20


@dataclass(frozen=True)
class Fetch:
    """A member acquires so many records."""

    member: MemberId
    count: int


@dataclass(frozen=True)
class Said:
    """A member says the same of so many offsets from the first that it holds on."""

    member: MemberId
    count: int
    skipped: int
    acknowledge_type: int


@dataclass(frozen=True)
class Left:
    """The session of a member ends."""

    member: MemberId


@dataclass(frozen=True)
class Passed:
    """Time passes, and locks end."""

    duration_ms: int


FETCHES = st.builds(Fetch, MEMBERS, st.integers(1, 8))
SAID = st.builds(
    Said, MEMBERS, st.integers(1, 8), st.integers(0, 4), st.sampled_from([ACCEPT, RELEASE, REJECT, GAP])
)
ENDS = st.builds(Left, MEMBERS) | st.builds(Passed, st.integers(1, 25))
STEPS = st.lists(FETCHES | SAID | SAID | ENDS, max_size=12)
Step = Fetch | Said | Left | Passed


class Scene:
    """A share-partition, the time, and for each offset that was delivered the last thing that no refusal undoes."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.partition: SharePartition = a_share_partition(limits=LIMITS)
        self.lasting: dict[int, tuple[MemberId | None, int]] = {}

    def held(self) -> dict[int, tuple[MemberId | None, int]]:
        """Return who holds what, and how often it was delivered."""
        return {
            offset: (run.member_id, run.delivery_count)
            for run in self.partition.view().ranges
            for offset in range(run.first_offset, run.last_offset + 1)
        }

    def take(self, step: Step) -> Sequence[StateDelta]:
        """Let it happen; return what must become durable."""
        match step:
            case Fetch(member, count):
                extents = [(offset, offset) for offset in range(RECORDS)]
                fetch(self.partition, member, *extents, max_records=count, now_ms=self.now_ms)
                held = self.held()
                self.lasting.update({offset: now for offset, now in held.items() if now[0] == member})
                return ()
            case Said(member, count, skipped, acknowledge_type):
                mine = [offset for offset, (holder, _) in self.held().items() if holder == member][skipped:]
                if not mine:
                    return ()
                try:
                    said = say(mine[0], min(mine[0] + count - 1, mine[-1]), acknowledge_type)
                    return [self.partition.acknowledge(member, said, now_ms=self.now_ms)]
                except ApiError:
                    return ()
            case Left(member):
                return [self.partition.release(member)]
            case Passed(duration_ms):
                self.now_ms += duration_ms
                before = self.held()
                delta = self.partition.expire_locks(self.now_ms)
                after = self.held()
                ended = [offset for offset, now in after.items() if before[offset][0] and not now[0]]
                self.lasting.update({offset: after[offset] for offset in ended})
                return [delta]


@settings(max_examples=4 * settings().max_examples)
@given(first=STEPS, refused=STEPS)
def test_what_was_held_before_refused_changes_is_held_again_by_whoever_had_it_last(
    first: list[Step], refused: list[Step]
) -> None:
    # Given
    scene = Scene()
    for step in first:
        scene.take(step)
    scene.lasting = scene.held()
    start_offset = scene.partition.start_offset
    deltas = [delta for step in refused for delta in scene.take(step) if not delta.is_empty]

    # When
    for delta in reversed(deltas):
        scene.partition.take_back(delta)

    # Then
    assert scene.held() == scene.lasting
    assert scene.partition.start_offset == start_offset
