"""Command lines of `java` that start quickly: recorded class data, a light collector and compiler."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.real_kafka import jars, prerequisites
from tests.real_kafka.paths import LOGGING_FOLDER
from tests.real_kafka.versions import REFERENCE, KafkaRelease

QUICK_START_OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
)
"""For short lives on few cores. The first compiler only: a broker under load is slower than a tuned one.

What the JVM itself warns of, as of class data that it cannot use, comes by default between the lines that a tool or a
member prints.
"""

RECORDING_SUFFIX: Final = ".recording"


def java_command(
    release: KafkaRelease,
    main_class: str,
    arguments: Sequence[str | Path],
    *,
    options: Sequence[str],
    log_role: str,
    more_classes: Sequence[Path] = (),
) -> list[str | Path]:
    """The command that runs `main_class` of `release`, logging as `logging/{log_role}-…` says.

    `more_classes` are folders behind the release's jars on the class path.
    """
    binding = release.log_binding
    log_configuration = LOGGING_FOLDER / f"{log_role}-{binding.configuration_suffix}"
    return [
        prerequisites.java().executable,
        *options,
        f"{binding.configuration_option}{log_configuration}",
        "-cp",
        ":".join([jars.classpath(release), *map(str, more_classes)]),
        main_class,
        *arguments,
    ]


class ClassData:
    """The classes of one kind of process, recorded at its first clean end and mapped by every later start.

    Saves more than half of a broker's start. The JVM ignores class data of other jars or another build of
    itself, so a stale recording costs time, never correctness. Each recorder writes a file of its own and
    `keep` renames it, so that nobody maps half a recording.
    """

    __slots__ = ("_archive", "_recording")

    def __init__(self, release: KafkaRelease, role: str, recorder: str) -> None:
        """Class data of `role` processes of `release`; `recorder` is a name that no other recorder has."""
        name = f"{role}-{prerequisites.java().build}.jsa"
        self._archive = jars.fetch(release) / name
        self._recording = self._archive.with_name(f"{name}.{recorder}{RECORDING_SUFFIX}")

    @property
    def is_recorded(self) -> bool:
        return self._archive.exists()

    def options(self, *, records: bool) -> list[str]:
        """JVM options that make the recording when the process ends, or that use it where there is one."""
        if records:
            return [f"-XX:ArchiveClassesAtExit={self._recording}"]
        return [f"-XX:SharedArchiveFile={self._archive}"] if self.is_recorded else []

    def keep(self) -> None:
        """Publish what a process that ended cleanly has recorded, if it has."""
        with contextlib.suppress(FileNotFoundError):
            self._recording.rename(self._archive)

    def discard(self) -> None:
        """Forget what a process may have recorded that did not end cleanly."""
        self._recording.unlink(missing_ok=True)


def tool_class_data() -> ClassData:
    """What all that uses the clients of the reference version has in common: Kafka's tools, and our own members."""
    return ClassData(REFERENCE, "tool", recorder=str(os.getpid()))
