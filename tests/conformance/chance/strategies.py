"""Which steps follow each other."""

from itertools import chain
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.conformance.chance.steps import (
    AcknowledgeAny,
    AcknowledgeEach,
    AcknowledgeHeld,
    AlterOffsets,
    Configure,
    DeleteGroup,
    DeleteOffsets,
    DescribeConfigs,
    DescribeGroup,
    DescribeOffsets,
    End,
    Fail,
    Fetch,
    Join,
    Leave,
    ListGroups,
    LoseLocks,
    OpenAgain,
    Produce,
    Step,
    Unload,
    Write,
)
from tests.conformance.member import ACCEPT, GAP, REJECT, RELEASE, RENEW

MEMBERS: Final = 3
LARGEST_OFFSET: Final = 40
MOST_STEPS: Final = 20
MOST_RECORDS: Final = 8
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1

members: Final = st.integers(0, MEMBERS - 1)
ways: Final = st.sampled_from([ACCEPT, RELEASE, RELEASE, RELEASE, REJECT, GAP, RENEW])
produces: Final = st.builds(Produce, st.integers(1, MOST_RECORDS))
fetches: Final = st.builds(
    Fetch,
    members,
    st.sampled_from([1, 2, 3, 5, 8, 500]),
    st.sampled_from([1, 2, 4, 500]),
    st.sampled_from([BATCH_OPTIMIZED, BATCH_OPTIMIZED, RECORD_LIMIT]),
)
held: Final = st.builds(
    AcknowledgeHeld,
    members,
    st.sampled_from([(0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 3)]),
    ways,
    st.booleans(),
)
each: Final = st.builds(
    AcknowledgeEach, members, st.lists(ways, min_size=1, max_size=6).map(tuple), st.booleans()
)
offsets: Final = st.integers(0, LARGEST_OFFSET)
of_any: Final = st.builds(AcknowledgeAny, members, offsets, offsets, ways)
openings: Final = st.builds(OpenAgain, members)
joins: Final = st.builds(Join, members)
leaves: Final = st.builds(Leave, members)
producers: Final = st.integers(0, 1)

VALUES: Final = {
    "share.delivery.count.limit": ("2", "2", "3", "4", "10", None, "1", "11"),
    "share.partition.max.record.locks": ("100", "101", "4000", None, "99", "many"),
    "share.record.lock.duration.ms": ("30000", "45000", "60000", "999", "60001"),
    "share.isolation.level": ("read_committed", "read_uncommitted", None, "serializable"),
    "share.renew.acknowledge.enable": ("false", "false", "true", None, "maybe"),
    "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT1H", None, "by_duration:1", "none"),
    "share.session.timeout.ms": ("45000", "60000", None, "1000", "60001"),
    "share.heartbeat.interval.ms": ("5000", "15000", None, "100", "15001"),
    "share.assignment.interval.ms": ("0", None, "15001", "-1"),
    "share.no.such.key": ("1", None),
}
"""Of a group, in range and out of it. Locks outlast a script: which ones end is a step of its own."""
settings: Final = st.sampled_from(sorted(VALUES)).flatmap(
    lambda key: st.builds(Configure, st.just(key), st.sampled_from(VALUES[key]))
)


def scripts() -> SearchStrategy[list[Step]]:
    """Steps, in order; there are records from the beginning."""
    step = st.one_of(produces, fetches, fetches, held, held, each, of_any, openings)
    return st.lists(step, min_size=4, max_size=MOST_STEPS)


def failing_scripts() -> SearchStrategy[list[Step]]:
    """Rounds in which records fail again and again, up to the delivery count limit and beyond."""
    step = st.builds(
        Fail,
        members,
        st.integers(1, 4),
        st.sampled_from([-1, -1, -1, 0, 1, 2]),
        st.sampled_from([1, 2, 3, 500, 500, 500]),
    )
    return st.lists(st.one_of(step, step, step, produces), min_size=4, max_size=14)


def configured_scripts() -> SearchStrategy[list[Step]]:
    """Configurations change while members go on; batches are large enough to come to the limit of record locks."""
    failures = st.builds(Fail, members, st.integers(1, 3), st.just(-1), st.sampled_from([2, 500]))
    many = st.builds(Produce, st.sampled_from([1, 5, 30, 60]))
    questions = st.builds(DescribeConfigs)
    step = st.one_of(many, fetches, fetches, held, each, failures, settings, settings, questions)
    return st.lists(step, min_size=4, max_size=MOST_STEPS)


def expiring_scripts() -> SearchStrategy[list[Step]]:
    """Locks end and are renewed, some for longer than others, up to the delivery count limit and beyond."""
    lost = st.builds(
        LoseLocks,
        st.lists(fetches, min_size=1, max_size=3).map(tuple),
        st.integers(0, 6),
        st.booleans(),
    )
    limits = st.builds(Configure, st.just("share.delivery.count.limit"), st.sampled_from(["2", "3", "4"]))
    quick = st.one_of(produces, fetches, held, held, each, of_any, openings, limits)
    rounds = st.tuples(st.lists(quick, max_size=4), lost).map(lambda both: [*both[0], both[1]])
    last = st.lists(quick, min_size=2, max_size=8)
    return st.tuples(st.lists(rounds, min_size=1, max_size=4), last).map(
        lambda both: [*chain.from_iterable(both[0]), *both[1]]
    )


def transactional_scripts() -> SearchStrategy[list[Step]]:
    """Transactions are committed, aborted, and stay open; the isolation level changes while members go on."""
    writes = st.builds(Write, producers, st.integers(1, MOST_RECORDS))
    ends = st.builds(End, producers, st.booleans())
    levels = st.builds(
        Configure,
        st.just("share.isolation.level"),
        st.sampled_from(["read_committed", "read_committed", "read_committed", "read_uncommitted", None]),
    )
    step = st.one_of(
        writes, writes, ends, ends, levels, produces, fetches, fetches, fetches, held, each, of_any
    )
    return st.lists(step, min_size=6, max_size=MOST_STEPS)


def administered_scripts() -> SearchStrategy[list[Step]]:
    """Admin clients look at the group and change it, with members and without."""
    looks = st.one_of(
        st.builds(DescribeOffsets, st.booleans()),
        st.builds(DescribeOffsets, st.booleans()),
        st.builds(DescribeGroup, st.sampled_from([None, None, 5, 6])),
        st.builds(
            ListGroups,
            st.sampled_from([(), ("share",), ("SHARE", "classic"), ("consumer",)]),
            st.sampled_from([(), ("Empty",), ("stable",), ("Dead", "Empty")]),
        ),
    )
    changes = st.one_of(
        st.builds(AlterOffsets, st.integers(-1, LARGEST_OFFSET)),
        st.builds(DeleteOffsets),
        st.builds(DeleteGroup),
    )
    resets = st.builds(
        Configure,
        st.just("share.auto.offset.reset"),
        st.sampled_from(["earliest", "latest", "by_duration:PT1H", None]),
    )
    quiet = st.one_of(produces, fetches, fetches, held, held, each, looks, changes, resets, joins, leaves)
    unloaded = st.lists(st.one_of(looks, changes, produces, resets), max_size=4).map(
        lambda steps: [Unload(), *steps]
    )
    part = st.one_of(st.lists(quiet, min_size=1, max_size=5), unloaded)
    return st.lists(part, min_size=2, max_size=8).map(lambda parts: list(chain.from_iterable(parts)))


KINDS: Final = (
    scripts,
    failing_scripts,
    configured_scripts,
    expiring_scripts,
    transactional_scripts,
    administered_scripts,
)
"""Every kind of script there is."""


def side_by_side(of_each_kind: int) -> SearchStrategy[tuple[list[Step], ...]]:
    """So many scripts of each kind, to be played at once, so that they wait together."""
    return st.tuples(*(kind() for kind in KINDS for _ in range(of_each_kind)))
