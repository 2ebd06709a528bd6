"""The token that tells a process from every other, where its group shows it: in the member id.

Coordinators tell what members say of themselves only while a group is quiet, but their ids at any time, and make these
of the client id of the request: `<client id>-<UUID>` (`GroupMetadata.generateMemberId`). So the client id with which a
process joins has the token in it. Who has the lock that belongs to the token lives (`kproxy.net.fleet.process_lock`).
"""

import re
from typing import Final

PREFIX: Final = "kproxy-fleet"
TOKEN_CHARACTERS: Final = 32

_TOKEN: Final = f"[0-9a-f]{{{TOKEN_CHARACTERS}}}"
_LONGEST_PID: Final = 10
_MEMBER_ID: Final = re.compile(rf"{PREFIX}-[0-9]{{1,{_LONGEST_PID}}}-({_TOKEN})-.+", re.ASCII)
_LOCK_NAME: Final = re.compile(rf"{PREFIX}-({_TOKEN})", re.ASCII)


def client_id(token: str, pid: int) -> str:
    """Return the client id of a process. The pid is for people: it proves nothing, and is not read."""
    return f"{PREFIX}-{pid}-{token}"


def token_of_member(member_id: str) -> str | None:
    """Return the token in a member id; None when there is none: it is of an elder kproxy, or of something else."""
    found = _MEMBER_ID.fullmatch(member_id)
    return None if found is None else found[1]


def lock_name(token: str) -> str:
    """Return the name of the file that a process keeps locked."""
    return f"{PREFIX}-{token}"


def token_of_lock(name: str) -> str | None:
    """Return the token in the name of a file; None when it is no lock's."""
    found = _LOCK_NAME.fullmatch(name)
    return None if found is None else found[1]
