"""How many files this process may have open, how many client connections fit in, and whether there are any left.

Each client connection takes two, its own and the one to its broker. When all are open uvloop closes at once whoever
connects, and says nothing; kproxy can reach no broker then, and nobody reads its metrics.
"""

import asyncio
import errno
import os
import resource
from typing import Final

from kproxy.net.counting import Counting
from kproxy.net.relay.limits.connection_quotas import UNLIMITED
from kproxy.telemetry import logs

log = logs.logger("net.relay.limits")

FILES_PER_CONNECTION: Final = 2

RESERVED_FILES: Final = 256
"""For ports, kproxy's own connections to brokers and to other processes, the admin port."""

FEW_CONNECTIONS: Final = 1_000
"""Fewer than anybody expects who sets no bound."""

_LOOK_SECONDS: Final = 1.0

_REMEDY: Final = (
    "raise the hard limit (LimitNOFILE= of systemd, --ulimit nofile= of Docker, ulimit -Hn), "
    "or lower max.connections"
)


def open_file_limit() -> int:
    """Raise the soft limit of open files (RLIMIT_NOFILE) to the hard one as far as it goes; return what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as failure:  # macOS has a lower limit than it says
        log.warning("open_file_limit_kept", soft=soft, hard=hard, err=failure)
        return soft
    return hard


def connections_that_fit(max_connections: int, file_limit: int) -> int:
    """Return how many client connections may be open: `max.connections`, or less where files do not suffice.

    Of a small limit no more than a half is reserved. The log tells of connections that are configured and do not
    fit, and of a limit for few.
    """
    if file_limit < 0:  # RLIM_INFINITY
        return max_connections
    reserved = min(RESERVED_FILES, file_limit // 2)
    fitting = max((file_limit - reserved) // FILES_PER_CONNECTION, 1)
    if max_connections <= fitting:
        return max_connections
    is_news = max_connections < UNLIMITED or fitting < FEW_CONNECTIONS
    tell = log.warning if is_news else log.debug
    tell(
        "open_files_bound_connections",
        max_connections=max_connections,
        file_limit=file_limit,
        fitting=fitting,
        detail=(
            f"max.connections is {max_connections}, and {file_limit} open files are enough for {fitting}: "
            f"{FILES_PER_CONNECTION} for each, {reserved} beside them. More are closed at once; {_REMEDY}"
        ),
    )
    return fitting


class OpenFileWatch:
    """Looks once a second whether another file could be opened; counts that there is none, and tells of it once."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._is_short = False

    async def run(self) -> None:
        """Look for ever; cancelled at the end."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Look once."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            if failure.errno not in {errno.EMFILE, errno.ENFILE}:
                return
            self._counting.count("open_file_shortages")
            self._tell(failure)
        else:
            if self._is_short:
                log.info("open_files_again", detail="connections are accepted again")
            self._is_short = False

    def _tell(self, failure: OSError) -> None:
        if not self._is_short:
            soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            detail = f"all of {soft} are open: whoever connects is closed at once, brokers cannot be dialled; {_REMEDY}"
            log.error("no_open_files", err=failure, detail=detail)
        self._is_short = True
