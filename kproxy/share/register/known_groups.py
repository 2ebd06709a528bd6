"""`KnownGroups`: the groups of the process by id. Those of a slot come and go in one turn, however many they are.

1. Groups that were read from a log are there at once, as pictures (`restore`). A picture becomes a group when it is
   asked for; others are made one by one (`make_one`), by whoever has the time.
2. All groups of a place go at once (`take`). To take them apart is left to whoever asked for that.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from kproxy.share.identifiers import GroupId, MemberId, TopicId
from kproxy.share.register.placed_ids import PlacedIds
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage, ShareGroupState


def _make_nothing(picture: ShareGroupImage) -> None:
    raise AssertionError(f"nobody said how to make {picture.group_id!r}")


class KnownGroups:
    """Groups by id. What is asked for is made of its picture first, if it was not yet."""

    __slots__ = ("_made", "_make", "_pictures", "changed", "ids", "placed")

    def __init__(self) -> None:
        self._made: dict[GroupId, ShareGroup] = {}
        self._pictures: dict[int | None, dict[GroupId, ShareGroupImage]] = {}  # by place; none is empty
        self._make: Callable[[ShareGroupImage], object] = _make_nothing
        self.ids: Collection[GroupId] = _Ids(self._made, self._pictures)
        """Every id, as a view that follows what happens."""
        self.placed: PlacedIds[GroupId] = PlacedIds()
        """The ids by place."""
        self.changed: dict[GroupId, None] = {}
        """Groups that are new, gone, others, or have another revision. Whoever looks at these takes them out."""

    def __contains__(self, group_id: object) -> bool:
        return group_id in self.ids

    def get(self, group_id: GroupId) -> ShareGroup | None:
        """Return the group; None when there is none, or it was not made yet: nothing is due of it then."""
        return self._made.get(group_id)

    def find(self, group_id: GroupId) -> ShareGroup | None:
        """Return the group, made now if need be; None when there is none."""
        group = self._made.get(group_id)
        if group is None and self._pictures and (picture := self._picture(group_id)) is not None:
            self._make(picture)
            group = self._made.get(group_id)
        return group

    def member_ids(self, group_id: GroupId) -> Collection[MemberId]:
        """Return the members of a group, which is not made for that; nothing when there is none."""
        found = self._made.get(group_id) or self._picture(group_id)
        return () if found is None else found.members.keys()

    def state_topic_names(self, group_id: GroupId) -> Mapping[TopicId, str]:
        """Return the topics that a group has state of, which is not made for that; nothing when there is none."""
        found = self._made.get(group_id) or self._picture(group_id)
        return {} if found is None else found.state_topic_names

    def subscribed_names(self, group_id: GroupId) -> frozenset[str]:
        """Return the topics that members subscribed to, and make no group for that; nothing when there is none."""
        if (group := self._made.get(group_id)) is not None:
            return group.topics.subscribed_names
        picture = self._picture(group_id)
        return frozenset() if picture is None else picture.subscribed_names

    def made(self) -> Collection[ShareGroup]:
        """Return the groups without those that are pictures still."""
        return self._made.values()

    def pictures(self) -> Iterable[ShareGroupImage]:
        """Return those of groups that were not made yet."""
        return chain.from_iterable(pictures.values() for pictures in self._pictures.values())

    def put(self, group: ShareGroup) -> ShareGroup | None:
        """Have `group` in place of whatever has its id; return that if it was made."""
        group_id = group.group_id
        before = self._made.get(group_id)
        if not self._drop_picture(group_id) and before is None:
            self.placed.add(group_id)
        self._made[group_id] = group
        group.changes = self.changed
        self.changed[group_id] = None
        return before

    def pop(self, group_id: GroupId) -> ShareGroup | None:
        """Have no group of this id any more; return it if it was made."""
        was_picture, group = self._drop_picture(group_id), self._made.pop(group_id, None)
        if was_picture or group is not None:
            self.placed.discard(group_id)
            self.changed[group_id] = None
        return group

    def restore(
        self,
        pictures: dict[GroupId, ShareGroupImage],
        make: Callable[[ShareGroupImage], object],
        *,
        place: int | None,
    ) -> Collection[ShareGroup]:
        """Have the groups of these pictures, all at `place`, instead of those of the same ids; return these.

        `make` makes a group and `put`s it. The pictures are nobody else's from now on.
        """
        self._make = make
        replaced = [self._made.pop(group_id) for group_id in self._made.keys() & pictures.keys()]
        self.placed.add_all(pictures, place)
        if pictures:
            self._pictures[place] = (
                {**before, **pictures} if (before := self._pictures.get(place)) else pictures
            )
        return replaced

    def make_one(self) -> int:
        """Make a group of one of the pictures that are left; return how much work that was, 0 when there is none."""
        for pictures in self._pictures.values():
            group_id, picture = pictures.popitem()
            pictures[group_id] = picture  # the last one, so that to find it costs the same for any number
            self.find(group_id)
            return picture.work
        return 0

    def work_of(self, group_id: GroupId) -> int:
        """Return how much work it is to `find` a group now: 0 when it was made, or there is none."""
        if not self._pictures or group_id in self._made or (picture := self._picture(group_id)) is None:
            return 0
        return picture.work

    def state_of(self, group_id: GroupId) -> ShareGroupState | None:
        """Return the state of a group, which is not made for that; None when there is none."""
        found = self._made.get(group_id) or self._picture(group_id)
        if found is None:
            return None
        return ShareGroupState.STABLE if found.members else ShareGroupState.EMPTY

    def take(self, place: int) -> tuple[list[ShareGroup], dict[GroupId, ShareGroupImage]]:
        """Have no group of `place` any more; return those that were made, and the pictures."""
        ids, pictures = self.placed.take(place), self._pictures.pop(place, {})
        self.changed.update(ids)
        made = self._made
        return [group for each in ids if (group := made.pop(each, None)) is not None], pictures

    def _picture(self, group_id: GroupId) -> ShareGroupImage | None:
        for pictures in self._pictures.values():
            if (picture := pictures.get(group_id)) is not None:
                return picture
        return None

    def _drop_picture(self, group_id: GroupId) -> bool:
        for place, pictures in self._pictures.items():
            if pictures.pop(group_id, None) is not None:
                if not pictures:
                    del self._pictures[place]
                return True
        return False


class _Ids(Collection[GroupId]):
    """The ids of groups that were made, and of those that were not yet."""

    __slots__ = ("_made", "_pictures")

    def __init__(
        self, made: Collection[GroupId], pictures: dict[int | None, dict[GroupId, ShareGroupImage]]
    ) -> None:
        self._made, self._pictures = made, pictures

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._made or any(group_id in each for each in self._pictures.values())

    def __bool__(self) -> bool:
        return bool(self._made) or bool(self._pictures)

    def __iter__(self) -> Iterator[GroupId]:
        return chain(self._made, *self._pictures.values())

    def __len__(self) -> int:
        return len(self._made) + sum(map(len, self._pictures.values()))
