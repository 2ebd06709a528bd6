"""Other people's programs in Go: franz-go's share consumer and its admin client, kadm.

Modules are pinned in `go/go.mod` and `go/go.sum`; the programs are built once for each state of their sources.
"""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from tests.real_kafka import prerequisites
from tests.real_kafka.child import Child
from tests.real_kafka.file_lock import file_lock
from tests.real_kafka.paths import HARNESS_FOLDER, PROJECT_ROOT
from tests.real_kafka.share_member import ShareMember

SOURCES: Final = HARNESS_FOLDER / "go"
BUILD_TIMEOUT_SECONDS: Final = 300
ANSWER_TIMEOUT_SECONDS: Final = 45.0

QUICKLY: Final = ("-buildvcs=false", "-gcflags=all=-N -l", "-ldflags=-s -w")
"""What is not optimised is built in two thirds of the time, and nothing here is about speed."""

Answers = list[dict[str, Any]]


class BuildFailed(RuntimeError):
    """Go could not fetch the modules or build the programs; the message has what it said."""


class AdminRefused(RuntimeError):
    """kadm gave an error instead of an answer. `error` is the protocol's name of it, or what kadm says."""

    def __init__(self, command: str, error: str) -> None:
        super().__init__(f"{command!r} failed: {error}")
        self.error = error


class GoShareMember(ShareMember):
    """A share consumer of franz-go (share APIs in version 2), which tells nothing of single records' answers.

    `answered` stays empty, and `commit_async` does nothing: it sends acknowledgements by itself.
    """

    supports_renew: ClassVar[bool] = True

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start a member, which joins at once.

        `settings` are named as Java's: `max.poll.records`, `share.acquire.mode`, `client.id`.
        """
        arguments = [bootstrap_servers, group, ",".join(topics)]
        arguments += [f"{key}={value}" for key, value in (settings or {}).items()]
        super().__init__("franz-go share member", [programs() / "share_member", *arguments])


class GoShareAdmin(Child):
    """kadm at an address, without what differs from cluster to cluster: ids, epochs, addresses."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__("kadm", [programs() / "share_admin", bootstrap_servers])

    def listed(self, *states: str) -> Answers:
        """Share groups in one of `states`, or in any."""
        return self._ask("list", *states)

    def described(self, *groups: str) -> Answers:
        """These share groups and their members."""
        return self._ask("describe", *groups)

    def offsets(self, *groups: str) -> Answers:
        """Start offset and lag of every share-partition of these groups."""
        return self._ask("offsets", *groups)

    def altered(self, group: str, topic: str, offsets: Mapping[int, int]) -> Answers:
        """Begin partitions of a topic at other offsets; what came of it by partition."""
        return self._ask("alter", group, *(f"{topic}@{index}@{offset}" for index, offset in offsets.items()))

    def deleted_offsets(self, group: str, *topics: str) -> Answers:
        """Forget the offsets of topics; what came of it by topic."""
        return self._ask("delete-offsets", group, *topics)

    def deleted(self, *groups: str) -> Answers:
        """Delete groups; what came of it by group."""
        return self._ask("delete", *groups)

    def _ask(self, *command: str) -> Answers:
        """Raises `AdminRefused`."""
        self.send_line(" ".join(command))
        told: dict[str, Any] = json.loads(self.next_line(timeout_seconds=ANSWER_TIMEOUT_SECONDS))
        if told["event"] == "error":
            raise AdminRefused(" ".join(command), told["error"])
        answers: Answers = told["answers"]
        return answers


@functools.cache
def programs() -> Path:
    """The folder of the built programs, built now if they are not there.

    A folder bears the digest of its sources, and is renamed to its name when it is whole. Raises `BuildFailed`, and
    `MissingPrerequisite` without Go.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in _sources())).hexdigest()[:12]
    folder = PROJECT_ROOT / "build" / "go" / digest
    with file_lock(folder.with_suffix(".lock"), while_waiting=lambda: None):
        if not folder.exists():
            _build(folder.with_suffix(".new")).rename(folder)
    return folder


def _sources() -> list[Path]:
    return sorted(path for path in SOURCES.rglob("*") if path.is_file())


def _build(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    answer = subprocess.run(
        [prerequisites.go(), "build", *QUICKLY, "-o", f"{folder}/", "./..."],
        cwd=SOURCES,
        # The C compiler that the resolver of names would need is no prerequisite.
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        raise BuildFailed(f"go build: {answer.stdout}{answer.stderr}")
    return folder
