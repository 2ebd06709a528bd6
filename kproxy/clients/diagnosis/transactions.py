"""Records that a group is not given as long as a transaction has not ended. Pure.

A group with `share.isolation.level=read_committed` is given nothing from the last stable offset on: there the first
transaction begins that was neither committed nor aborted, and of what is behind it nobody knows yet whether it counts.
"""

from shlex import join

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.histories import file_options, servers_of
from kproxy.wording import counted

ISOLATION_KEY = "share.isolation.level"


def held_back_from(share_partition: Item) -> int | None:
    """Return from which offset on records wait for a transaction; None where none are known to do so."""
    stable, end = share_partition.get("lastStableOffset"), share_partition["logEndOffset"]
    return stable if stable is not None and end is not None and stable < end else None


def open_transaction_text(share_partition: Item, backing: Item | None) -> str:
    """Return what waits for a transaction, and how to learn whose it is; empty where nothing does.

    `backing` says where the backing cluster is; None is not known.
    """
    first = held_back_from(share_partition)
    if first is None:
        return ""
    behind = share_partition["logEndOffset"] - first - 1
    who = f"it and the {counted(behind, 'record')} behind it wait" if behind else "it waits"
    topic = str(share_partition["topicName"] or share_partition["topicId"])
    place = ["--topic", topic, "--partition", str(share_partition["partition"])]
    tool = ["kafka-transactions.sh", "--bootstrap-server", servers_of(backing), *file_options(backing)]
    return (
        f"offset {first} is the first of a transaction that has not ended, and this group is given committed records "
        f"alone ({ISOLATION_KEY}): {who} for that. Whose it is: {join([*tool, 'describe-producers', *place])}"
    )
