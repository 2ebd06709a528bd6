"""A member of a share group with Java's own client of the reference version (share APIs in version 2)."""

import functools
import hashlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from tests.real_kafka import jars, prerequisites
from tests.real_kafka.java_command import QUICK_START_OPTIONS, java_command, tool_class_data
from tests.real_kafka.paths import HARNESS_FOLDER
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.versions import REFERENCE

PROBE_CLASS: Final = "ShareConsumerProbe"
PROBE_SOURCE: Final = HARNESS_FOLDER / "java" / f"{PROBE_CLASS}.java"
HEAP_OPTION: Final = "-Xmx256m"
COMPILE_TIMEOUT_SECONDS: Final = 120


class CompilationFailed(RuntimeError):
    """`javac` refused the probe; the message has what it said."""


class JavaShareMember(ShareMember):
    """A `KafkaShareConsumer` of the reference version."""

    supports_renew: ClassVar[bool] = True

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start a member; it joins with its first poll.

        `settings` are Java's, such as `max.poll.records`, `share.acquire.mode`, `client.id`.
        """
        arguments = [bootstrap_servers, group, ",".join(topics)]
        arguments += [f"{key}={value}" for key, value in (settings or {}).items()]
        options = [HEAP_OPTION, *QUICK_START_OPTIONS, *tool_class_data().options(records=False)]
        command = java_command(
            REFERENCE,
            PROBE_CLASS,
            arguments,
            options=options,
            log_role="tool",
            more_classes=[compiled_probe()],
        )
        super().__init__("Java share member", command)


@functools.cache
def compiled_probe() -> Path:
    """The folder of the compiled probe; compiled anew whenever its source has changed.

    Raises `CompilationFailed`, and `MissingPrerequisite` without a JDK.
    """
    digest = hashlib.sha256(PROBE_SOURCE.read_bytes()).hexdigest()[:12]
    jar_folder = jars.fetch(REFERENCE)
    classes = jar_folder / f"probe-{digest}"
    if not classes.exists():
        with tempfile.TemporaryDirectory(dir=jar_folder, prefix="compiling-") as scratch:
            _compile(Path(scratch) / "classes")
            _publish(Path(scratch) / "classes", classes)
    return classes


def _compile(folder: Path) -> None:
    command: list[str | Path] = [
        prerequisites.javac(),
        "-Werror",
        "-Xlint:all",
        "-cp",
        jars.classpath(REFERENCE),
    ]
    answer = subprocess.run(
        [*command, "-d", folder, PROBE_SOURCE],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        raise CompilationFailed(f"{PROBE_SOURCE}: {answer.stdout}{answer.stderr}")


def _publish(compiled: Path, classes: Path) -> None:
    try:
        compiled.rename(classes)
    except OSError:
        # Somebody else compiled the same at the same time.
        if not classes.is_dir():
            raise
