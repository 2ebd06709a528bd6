"""Builds of kproxy that run side by side: the code of this checkout, and that of an earlier commit."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from tests.real_kafka.paths import PROJECT_ROOT

EARLIER: Final = "UPGRADE_FROM"
"""A variable of the environment: the commit, or the tag, to upgrade from."""
COMMITS_BACK: Final = 30
"""Without it, and without a tag, so many commits before this one."""


class NoEarlierBuild(RuntimeError):
    """There is no git tree here, or none that goes back so far."""


@dataclass(frozen=True, slots=True)
class Build:
    """The code of a commit. `environment` lets `python -m kproxy` run it, and modules of these tests."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def version(self) -> str:
        """What `kproxy version` of this build says, and where it is."""
        where = "import kproxy; print('kproxy', kproxy.__version__, 'at', kproxy.__file__)"
        done = subprocess.run(
            [sys.executable, "-c", where],
            env={**os.environ, **self.environment},
            cwd=PROJECT_ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def this_build() -> Build:
    """Return the code of this checkout, with what is not committed."""
    return Build(f"{_git('describe', '--always', '--exclude=*', '--dirty')} (this checkout)")


def earlier_build(folder: Path) -> Build:
    """Return the code of an earlier commit, laid out in `folder`. Raises NoEarlierBuild."""
    commit = os.environ.get(EARLIER) or _newest_tag() or f"HEAD~{COMMITS_BACK}"
    name = _git("rev-parse", "--short", f"{commit}^{{commit}}")
    archive = subprocess.run(
        ["git", "archive", "--format=tar", name, "kproxy"], cwd=PROJECT_ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    # The folder that a process runs in comes first otherwise, and this checkout is there: it has the tests' modules.
    path = os.pathsep.join([str(folder), str(PROJECT_ROOT)])
    return Build(f"{name} ({commit})", {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"})


def _newest_tag() -> str:
    try:
        return _git("describe", "--tags", "--abbrev=0", "HEAD~1")
    except NoEarlierBuild:
        return ""


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=PROJECT_ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NoEarlierBuild(f"git {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()
