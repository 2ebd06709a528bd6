"""`ProcessLock`: how the processes of one machine see for certain that another one is dead.

Each kproxy keeps a file of its own locked (flock) in `/dev/shm`; the token in its name is in its member id, too. A
member is **dead for certain** when the file is there, belongs to the user of this process, was written since the
machine was booted, and nobody has it locked: the kernel unlocks it when the last thread of the process has ended, and
the last child that it forked without exec, and no sooner. The file has the lock before anybody hears of the token.

Everything else proves nothing, and such a member is waited for until its session ends: on another machine, or in a
container with a `/dev/shm` of its own, there is no such file (the containers of a pod share one); a file that was
cleared away; a process that is stopped, traced, or half dead with threads still running; another user's.

Why not its pid: pids are used again, may be hidden (hidepid), mean something else in another namespace, and a start
time that would tell them apart is counted from another moment in another time namespace; a process without its main
thread looks like a zombie, and works on; and two virtual machines that were resumed from one snapshot (or sandboxes
that make up their `/proc`) agree in boot id, namespaces and pids, so that each would find the other's processes dead.
A file that was made after the snapshot is on one of them only.

Its limit: a kproxy that was itself copied while it ran (a snapshot of its machine's memory, checkpoint and restore) is
one member with two bodies, each holding the lease of the other, whatever is done here. When one of them ends, and is
started again, it has both removed. What they write is fenced by the log.
"""

import fcntl
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from kproxy.fleet.process_token import (
    TOKEN_CHARACTERS,
    client_id,
    lock_name,
    token_of_lock,
    token_of_member,
)
from kproxy.telemetry import logs

log = logs.logger("net.fleet.process_lock")

SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - names are not to be guessed, owners are looked at
"""Linux's tmpfs: of one machine, gone with its memory. Where there is none, nobody is known to be dead."""

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

MOST_KEPT: Final = 100
"""Files of dead processes that stay, where nobody saw them in a group; each takes a page of memory."""

_BOOT_ID_BYTES: Final = 64


class ProcessLock:
    """Of one process; made by `take`. It blocks the event loop for some system calls in memory, for each member."""

    def __init__(self, folder: Path, token: str, boot_id: bytes) -> None:
        self.client_id = client_id(token, os.getpid())
        """The client id to join with."""
        self._folder = folder
        self._token = token
        self._boot_id = boot_id
        # A number, for no collection of garbage closes that, and so ends the lock.
        self._descriptor: int | None = None

    @classmethod
    def take(cls, folder: Path = SHARED_MEMORY) -> Self:
        """Return the lock of this process. Where none can be had, nobody knows later that it is dead; that is all."""
        try:
            boot_id = _start_of(BOOT_ID)
        except OSError:
            boot_id = b""
        lock = cls(folder, secrets.token_hex(TOKEN_CHARACTERS // 2), boot_id)
        try:
            lock._take()
        except OSError as failure:
            lock.release()
            log.info("fleet_process_lock_not_taken", folder=str(folder), detail=failure)
        return lock

    def dead_among(self, member_ids: Iterable[str]) -> frozenset[str]:
        """Return those of these members that are dead for certain."""
        return frozenset(member_id for member_id in member_ids if self._is_dead(token_of_member(member_id)))

    def forget(self, member_ids: Iterable[str]) -> None:
        """Remove the files of members that are dead, and in no group any more."""
        for member_id in member_ids:
            token = token_of_member(member_id)
            if token is not None and self._is_dead(token):
                with suppress(OSError):
                    self._path(token).unlink()

    def release(self) -> None:
        """Be told dead by nobody: for a process that ends in order, and has left its group."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            self._path(self._token).unlink()
        os.close(self._descriptor)
        self._descriptor = None

    # ------------------------------------------------ private

    def _path(self, token: str) -> Path:
        return self._folder / lock_name(token)

    def _take(self) -> None:
        if not self._boot_id:
            raise OSError(f"{BOOT_ID} cannot be read")
        self._clear_away()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._descriptor = os.open(self._path(self._token), flags, mode=0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._descriptor, self._boot_id)

    def _clear_away(self) -> None:
        """Remove the oldest files of the dead."""
        written: dict[Path, float] = {}
        for path in self._folder.iterdir():
            if self._is_dead(token_of_lock(path.name)):
                with suppress(OSError):
                    written[path] = path.stat().st_mtime
        for path in sorted(written, key=written.__getitem__, reverse=True)[MOST_KEPT:]:
            with suppress(OSError):
                path.unlink()

    def _is_dead(self, token: str | None) -> bool:
        if token is None or not self._boot_id:
            return False
        try:
            descriptor = os.open(self._path(token), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            return self._is_ours(descriptor) and _is_unlocked(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _is_ours(self, descriptor: int) -> bool:
        """Tell whether a file was written by a kproxy of this user since this machine was booted."""
        status = os.fstat(descriptor)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        return is_ours and os.read(descriptor, _BOOT_ID_BYTES) == self._boot_id


def _is_unlocked(descriptor: int) -> bool:
    """Tell whether its lock can be had. It is shared, so that several who look do not take each other for the owner."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_BOOT_ID_BYTES).strip()
