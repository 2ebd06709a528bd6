"""Which command tells how earlier attempts of records ended: the state log remembers that, kproxy does not. Pure."""

from shlex import join
from typing import Final

from kproxy.clients.admin_port import Item

UNKNOWN_SERVERS: Final = "BACKING-BROKER:9092"
UNKNOWN_FILE: Final = "FILE"
"""Stands for a file of client properties, which only who types the command has."""
_PLAINTEXT: Final = "PLAINTEXT"
USUAL_NAMES: Final = (
    ("stateTopic", "kproxy.state.topic.name", "__kproxy_share_state"),
    ("groupsTopic", "kproxy.groups.topic.name", "__kproxy_share_groups"),
)
"""Of each topic of the state log: the field that tells its name, the key that sets it, and the name without that."""


def audit_command(group_id: str, share_partition: Item, offset: int, backing: Item | None) -> str:
    """Return the command that tells all that the state log knows of a record, for a shell.

    `backing` says where the backing cluster is, how it is reached, and what the topics of the state log are called
    there; None is not known, and has names to put in place. Where TLS or a login is needed a file is named, to put in
    place likewise.
    """
    known = backing or {}
    options = ["-b", servers_of(backing), *file_options(backing)]
    for field, key, usual_name in USUAL_NAMES:
        name = known.get(field)
        if name and name != usual_name:
            options += ["-X", f"{key}={name}"]
    topic = share_partition["topicName"] or share_partition["topicId"]
    options += [
        "-g",
        group_id,
        "-t",
        str(topic),
        "-p",
        str(share_partition["partition"]),
        "--offset",
        str(offset),
    ]
    return join(["kproxy", "log", "audit", *options])


def servers_of(backing: Item | None) -> str:
    """Return the servers of the backing cluster, or a name to put in place."""
    return str((backing or {}).get("bootstrapServers") or UNKNOWN_SERVERS)


def file_options(backing: Item | None) -> list[str]:
    """Return the options that a client needs for TLS or a login: a file's name to put in place; none where without."""
    is_plain = ((backing or {}).get("securityProtocol") or _PLAINTEXT) == _PLAINTEXT
    return [] if is_plain else ["--command-config", UNKNOWN_FILE]
