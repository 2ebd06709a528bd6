"""`Selected`: the part of a log that a question is about. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kproxy.clients.failures import NotThere
from kproxy.clients.history.silver_rows import SilverRow
from kproxy.clients.nearest_names import nearest_names

ShareRow = tuple[str, str, int]
"""Group, topic id in Kafka's text form, and partition."""


@dataclass(slots=True)
class Selected:
    """What is asked about; None is all. `topic` is a name or an id, `names` the names of topics by id.

    It notes which names the log has, so that a name that it does not have can be told from one of which there is
    nothing to say.
    """

    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    _seen: dict[str, set[str]] = field(
        default_factory=lambda: {"group": set(), "topic": set(), "partition": set()}
    )

    def takes(self, row: SilverRow) -> bool:
        """Tell whether a row is of the selected part, and note what it names; a claim is of none."""
        share_partition = share_partition_of(row)
        return share_partition is not None and self.takes_key(*share_partition)

    def takes_key(self, group: str, topic_id: str, partition: int) -> bool:
        """Tell the same of a share-partition."""
        self._seen["group"].add(group)
        if self.group not in (None, group):
            return False
        name = self.names.get(topic_id)
        self._seen["topic"].add(name or topic_id)
        if self.topic not in (None, name, topic_id):
            return False
        self._seen["partition"].add(str(partition))
        return self.partition in (None, partition)

    def know_group(self, group: str) -> None:
        """Note that there is such a group, whether or not the log has anything else of it."""
        self._seen["group"].add(group)

    def require_known(self, place: str) -> None:
        """Raise NotThere for the first name that was seen nowhere in `place`; the text has the nearest ones."""
        for kind, wanted in (("group", self.group), ("topic", self.topic), ("partition", self.partition)):
            if wanted is None:
                continue
            if str(wanted) not in self._seen[kind] and not self._is_id_of_seen(kind, wanted):
                known: Collection[str] = self._seen[kind]
                shown = f"{kind} {wanted!r}" if kind != "group" else f"share group {wanted!r}"
                raise NotThere(f"there is no {shown} in {place}; {nearest_names(str(wanted), known)}")

    def _is_id_of_seen(self, kind: str, wanted: object) -> bool:
        return kind == "topic" and self.names.get(str(wanted)) in self._seen["topic"]


def share_partition_of(row: SilverRow) -> ShareRow | None:
    """Return the share-partition that a row is about; None for a claim and what cannot be decoded."""
    if row.get("group") is None:
        return None
    return row["group"], row["topic_id"], row["partition"]
