"""Becomes the command in its arguments, after asking the kernel to kill it when its parent dies.

Run as a script: `python die_with_parent.py PARENT_PID COMMAND…`. The parent is, to the kernel, the *thread*
that started this process; `processes.spawn` starts everything from one thread that lives as long as Python
does.
"""

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1
"""`prctl(2)`; the setting survives the `exec` below."""

EXIT_STATUS_OF_AN_ORPHAN: Final = 125


def main() -> None:
    """Bind this process's life to its parent's, then turn into the command."""
    parent_pid, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # A parent that died before the call above sends no signal any more.
    if os.getppid() != parent_pid:
        sys.exit(EXIT_STATUS_OF_AN_ORPHAN)
    # Python ignores these; the command has to meet them as any other program does.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
