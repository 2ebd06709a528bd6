"""The looks of `kproxy top`, taken by a thread of its own: a kproxy that is slow to answer holds no key up."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Condition, Thread

from kproxy.clients.top.group_looks import GroupLook, group_look, groups_look
from kproxy.clients.top.group_rows import GroupsLook
from kproxy.errors import KproxyError


@dataclass(frozen=True, slots=True)
class Seen:
    """The two newest looks at all groups, and that at the group that is opened; None for none yet.

    `problem` is why the newest attempt to look failed; empty when it did not.
    """

    before: GroupsLook | None
    now: GroupsLook
    group: GroupLook | None = None
    problem: str = ""


class Looks:
    """Looks every `interval_s` seconds, at all groups or at one. `now_s` only goes forward."""

    def __init__(
        self,
        admin_url: str,
        first: GroupsLook,
        *,
        interval_s: float,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admin_url = admin_url
        self._interval_s = interval_s
        self._now_s = now_s
        self._changed = Condition()
        self._opened: str | None = None
        self._looked_at: str | None = None
        self._is_ended = False
        self.seen = Seen(None, first)

    def start(self) -> None:
        """Begin to look. The thread does not outlive the process."""
        Thread(target=self._look_on, name="looks", daemon=True).start()

    def end(self) -> None:
        """Look no more, once the look that is under way has its answer."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()

    def open(self, group_id: str | None) -> None:
        """Look at this group from now on, and at once; at all groups for None."""
        with self._changed:
            if group_id == self._opened:
                return
            self._opened = group_id
            self.seen = replace(self.seen, group=None)
            self._changed.notify()

    def look(self) -> None:
        """Look once, and say in `seen` what was found."""
        opened = self._looked_at = self._opened
        try:
            if opened is None:
                found = groups_look(self._admin_url, now_s=self._now_s())
                self.seen = Seen(self.seen.now, found)
            else:
                group = group_look(self._admin_url, opened)
                with self._changed:
                    if self._opened == opened:
                        self.seen = replace(self.seen, group=group, problem="")
        except KproxyError as error:
            self.seen = replace(self.seen, problem=str(error))

    def _look_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due, timeout=self._interval_s)
                if self._is_ended:
                    return
            self.look()

    def _is_due(self) -> bool:
        """Tell whether there is something to do before the interval is over."""
        return self._is_ended or self._opened != self._looked_at
