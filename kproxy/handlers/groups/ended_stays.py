"""`EndedStays`: what is live of topics that went, or of groups that are not served here any more, is let go of.

None of it is found from the moment on in which it ends. To take it apart takes turns.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from kproxy.handlers.live.pauses import MOST_AT_FIRST, Pace, SharedStart, let_others_go_on, work_on
from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId

_LookedAt: TypeAlias = tuple[tuple[SharePartitionKey, ...], int]
"""Share-partitions to let go of, and how much work it was to find them, and is to let go of them."""

_LOOKED_AT_ONCE: Final = 16 * MOST_AT_FIRST
"""So many share-partitions are looked at before what that cost is counted: about as much as to let go of fifty."""


class EndedStays:
    """Ends the stays of topics and groups, and goes on with what hangs on them as long as there is any."""

    __slots__ = (
        "_availability",
        "_background",
        "_directory",
        "_group_ids",
        "_is_letting_go",
        "_start",
        "_topic_ids",
    )

    def __init__(self, services: ShareServices) -> None:
        self._directory, self._availability = services.directory, services.availability
        self._background = services.background
        self._start = SharedStart()
        self._topic_ids: set[TopicId] = set()
        self._group_ids: dict[GroupId, None] = {}
        self._is_letting_go = False

    def end_topics(self, topic_ids: Collection[TopicId]) -> None:
        """Let nothing that is live of these topics be found any more.

        Bit by bit it is discarded, and woken who waits for any of it.
        """
        self._directory.end(topic_ids=topic_ids)
        self._topic_ids.update(topic_ids)
        self._let_go()

    def end_groups(self, group_ids: Collection[GroupId]) -> None:
        """Do the same with what is live of these groups, but wake their fetches at once: one signal for each."""
        self._directory.end(group_ids=group_ids)
        self._group_ids.update(dict.fromkeys(group_ids))
        self._availability.look_again(group_ids)
        self._let_go()

    def _let_go(self) -> None:
        if self._is_letting_go or not (self._topic_ids or self._group_ids):
            return
        left, pace = self._left(), Pace(start=self._start)
        if self._let_go_of_some(left, pace):
            self._is_letting_go = True
            self._background.begin_now(
                partial(self._let_go_of_all, left, pace), name="letting go of what ended"
            )

    async def _let_go_of_all(self, left: Iterator[_LookedAt], pace: Pace) -> None:
        try:
            await let_others_go_on()
            while self._let_go_of_some(left, pace):
                await let_others_go_on()
        finally:
            self._is_letting_go = False

    def _let_go_of_some(self, left: Iterator[_LookedAt], pace: Pace) -> bool:
        """Let go of as much as there is time for; tell whether something may be left."""
        for keys, work in left:
            for key in keys:
                self._directory.let_go(key)
            if pace.is_pause_due(work):
                return True
        return False

    def _left(self) -> Iterator[_LookedAt]:
        """Look group by group at what is known of groups and topics that ended, until there are no more."""
        while self._topic_ids or self._group_ids:
            yield from self._left_of_groups()
            yield from self._left_of_topics()

    def _left_of_groups(self) -> Iterator[_LookedAt]:
        group_ids, self._group_ids = self._group_ids, {}
        for group_id in group_ids:
            yield (), work_on(self._directory.known_count_of(group_id))
            keys = self._directory.known_keys_of(group_id)
            yield (), work_on(len(keys))
            for key in keys:
                yield (key,), 1

    def _left_of_topics(self) -> Iterator[_LookedAt]:
        ended, self._topic_ids = self._topic_ids, set()
        if not ended:
            return
        for group_id in self._directory.known_group_ids().union(self._availability.listened_group_ids()):
            yield (), work_on(self._availability.listened_count_of(group_id))
            for keys, work in _of_topics(ended, self._availability.listened_keys_of(group_id)):
                for key in keys:
                    self._availability.signal(key)
                yield keys, work
            # What somebody listened to is let go of by now, and is not among these.
            yield (), work_on(self._directory.known_count_of(group_id))
            yield from _of_topics(ended, self._directory.known_keys_of(group_id))


def _of_topics(ended: Collection[TopicId], keys: Sequence[SharePartitionKey]) -> Iterator[_LookedAt]:
    """Yield those of `keys` that are of topics that `ended`, one by one, and how much work it was to find them.

    That they were copied counts first.
    """
    yield (), work_on(len(keys))
    for begin in range(0, len(keys), _LOOKED_AT_ONCE):
        portion = keys[begin : begin + _LOOKED_AT_ONCE]
        yield (), work_on(len(portion))
        for key in portion:
            if key.topic_id in ended:
                yield (key,), 1
