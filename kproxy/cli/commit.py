"""Of which commit this kproxy is: what a wheel or an sdist carries, or what git says of a checkout.

The build hook, `.ci/build_hook.py`, loads this file by itself, without kproxy: it imports nothing but the standard
library.
"""

import re
import subprocess
from pathlib import Path
from typing import Final

COMMIT_FILE: Final = "commit.txt"
"""Beside the package's modules in wheels and sdists; no checkout has it."""

GIT_SECONDS: Final = 2.0
"""How long git is waited for. A commit is good to know; no command fails or hangs for it."""

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}(-dirty)?")
_MOST_BYTES: Final = 64


def own_commit() -> str:
    """Return the commit of the kproxy that is running, ending in `-dirty` with changes to it; empty if unknown."""
    return commit_of_package(Path(__file__).resolve().parents[1])


def commit_of_package(package: Path) -> str:
    """Return what the folder of a package carries, or what git says where it is part of a checkout."""
    try:
        with (package / COMMIT_FILE).open("rb") as carried:
            return _commit(carried.read(_MOST_BYTES).decode("ascii", "replace"))
    except OSError:
        return commit_of_checkout(package.parent)


def commit_of_checkout(root: Path, *, timeout_s: float = GIT_SECONDS) -> str:
    """Return the commit of the git tree whose top is `root`; empty where there is none, or no git."""
    if not (root / ".git").exists():
        return ""
    described = ("describe", "--always", "--exclude=*", "--dirty", "--abbrev=12")
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and a folder of our own
            ["git", "--no-optional-locks", "-C", root, *described],  # noqa: S607 - whichever git there is
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout_s,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return _commit(done.stdout)


def _commit(text: str) -> str:
    found = text.strip()
    return found if _COMMIT.fullmatch(found) else ""
