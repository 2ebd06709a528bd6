"""`RenewedContext`: the newest good context for one side, whatever becomes of the files it is made of."""

import asyncio
import os
import ssl
from collections.abc import Callable, Sequence
from typing import Final

from kproxy.net.counting import Counting
from kproxy.net.tls.certificates import CertificateFacts
from kproxy.net.tls.contexts import MadeContext
from kproxy.net.tls.pem_files import TlsUnusable
from kproxy.telemetry import logs

log = logs.logger("net.tls")

LOOK_SECONDS: Final = 1.0
"""How often files are looked at. Kubernetes itself takes up to a minute to renew a mounted secret."""

LOOKS_AFTER_FAILURE: Final = 10
"""After how many looks files that could not be used are tried again, unchanged: the reason may have passed."""

_FileMark = tuple[int, int, int, int]
_GONE: Final[_FileMark] = (0, 0, 0, 0)


ContextMaker = Callable[[int], MadeContext]
"""Makes a context of the files as they are at a moment, in milliseconds since the epoch; called in a thread.

Raises TlsUnusable."""


class RenewedContext:
    """A context that follows its files, through symbolic links too, which Kubernetes swaps.

    New connections get the newest context whose files were good; those that are open stay as they are. Files that
    cannot be used are tried again every ten looks, and logged and counted when they change, or what is said of them.

    Args:
        role: `listener`, `upstream` or `fleet`, for logs and the counter.
        files: what it is made of.
        make: makes it.
        wall_ms: the time, in milliseconds since the epoch.
        counting: counts renewals.

    Raises:
        TlsUnusable: the files are no good at the start.
    """

    def __init__(
        self,
        role: str,
        files: Sequence[str],
        make: ContextMaker,
        *,
        wall_ms: Callable[[], int],
        counting: Counting,
    ) -> None:
        self._role = role
        self._files = files
        self._make = make
        self._wall_ms = wall_ms
        self._counting = counting
        self._marks = self._looked_at()
        self._made = make(wall_ms())
        self._looks_to_retry = 0
        self._said = ""

    @property
    def context(self) -> ssl.SSLContext:
        """The context for a connection that begins now."""
        return self._made.context

    @property
    def dialling(self) -> "DiallingContext":
        """What is dialled with, of a side that both listens and dials: always the newest, too."""
        return DiallingContext(self)

    @property
    def newest(self) -> MadeContext:
        """Everything that is in use now."""
        return self._made

    @property
    def certificates(self) -> Sequence[CertificateFacts]:
        """What is in use."""
        return self._made.certificates

    async def run(self) -> None:
        """Look at the files again and again, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Make a new context if a file changed since the last look, or could not be used ten looks ago.

        It is made in a thread: files may be slow, and a key that is encrypted takes as long as its author wanted.
        """
        marks = self._looked_at()
        if marks != self._marks:
            self._said = ""
        elif not self._is_retry_due():
            return
        self._marks = marks
        try:
            self._made = await asyncio.to_thread(self._make, self._wall_ms())
        except TlsUnusable as unusable:
            self._looks_to_retry = LOOKS_AFTER_FAILURE
            self._note_failure(str(unusable))
            return
        self._looks_to_retry = 0
        self._counting.count("tls_renewals", 1, self._role, "ok")
        log.info("certificates_renewed", role=self._role, files=", ".join(self._files))

    def _is_retry_due(self) -> bool:
        if not self._looks_to_retry:
            return False
        self._looks_to_retry -= 1
        return not self._looks_to_retry

    def _note_failure(self, words: str) -> None:
        if words != self._said:
            self._said = words
            self._counting.count("tls_renewals", 1, self._role, "failed")
            log.error("certificates_unusable", role=self._role, kept="those before", err=words)

    def _looked_at(self) -> list[_FileMark]:
        return [_mark(file) for file in self._files]


class DiallingContext:
    """A `TlsContext`: the other end of a `RenewedContext` that has two."""

    def __init__(self, renewed: RenewedContext) -> None:
        self._renewed = renewed

    @property
    def context(self) -> ssl.SSLContext:
        """The context for a connection that is dialled now."""
        context = self._renewed.newest.dialling
        assert context is not None
        return context


def _mark(file: str) -> _FileMark:
    """Return what differs when another file stands behind the name; symbolic links are followed."""
    try:
        found = os.stat(file)  # noqa: PTH116 - a Path would be made for each look
    except OSError:
        return _GONE
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
