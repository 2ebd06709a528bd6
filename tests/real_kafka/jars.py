"""Apache Kafka's jars, fetched once through Maven and kept in a folder per version.

A folder is whole when its stamp says so: the stamp is written last, and holds what was asked of Maven, so
neither an interrupted download nor one of other pins is taken for it. Callers at the same time wait for each
other.
"""

import functools
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

from tests.real_kafka import prerequisites, processes
from tests.real_kafka.file_lock import file_lock
from tests.real_kafka.paths import HARNESS_FOLDER, cache_folder
from tests.real_kafka.progress import Report, progress
from tests.real_kafka.versions import KafkaRelease

POM: Final = HARNESS_FOLDER / "pom.xml"
STAMP: Final = "whole"
MAVEN_LOG: Final = "maven.log"
WATCH_INTERVAL_SECONDS: Final = 0.1
FAILURE_LINES: Final = 25


class FetchFailed(RuntimeError):
    """Maven could not fetch a version; the message ends with its own last lines."""


def fetch(release: KafkaRelease) -> Path:
    """The folder of this release's jars, fetched now if they are not there whole.

    Raises `FetchFailed`, and `MissingPrerequisite` where Maven is needed and not installed.
    """
    folder = cache_folder() / release.version
    if _is_whole(folder, release):
        return folder
    with progress() as report:
        waiting = functools.partial(report, "waiting for another process that fetches Apache Kafka")
        # One lock for all versions: Maven's own local repository is not made for two writers.
        with file_lock(cache_folder() / "fetch.lock", while_waiting=waiting):
            if not _is_whole(folder, release):
                _fetch_afresh(release, folder, report)
    return folder


def classpath(release: KafkaRelease) -> str:
    """The class path of a release: every jar by name, in one order, as recorded class data requires."""
    return ":".join(str(jar) for jar in sorted(fetch(release).glob("*.jar")))


def _is_whole(folder: Path, release: KafkaRelease) -> bool:
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text() == _stamp_text(release)


def _stamp_text(release: KafkaRelease) -> str:
    return "\n".join([*_maven_properties(release), POM.read_text()])


def _fetch_afresh(release: KafkaRelease, folder: Path, report: Report) -> None:
    maven = prerequisites.maven()
    prerequisites.java()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run_maven(maven, release, folder, report)
    (folder / STAMP).write_text(_stamp_text(release))


def _run_maven(maven: Path, release: KafkaRelease, folder: Path, report: Report) -> None:
    properties = [*_maven_properties(release), f"-DoutputDirectory={folder}"]
    command: list[str | Path] = [
        maven,
        "--batch-mode",
        "--file",
        POM,
        *properties,
        "dependency:copy-dependencies",
    ]
    log = folder / MAVEN_LOG
    with log.open("wb") as output:
        process = processes.spawn(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        _report_until_it_ends(process, release, log, report)
    finally:
        processes.end(process, grace_seconds=5)
    if process.returncode != 0:
        raise FetchFailed(_failure_text(release, process.returncode, log))


def _report_until_it_ends(
    process: subprocess.Popen[bytes], release: KafkaRelease, log: Path, report: Report
) -> None:
    started = time.monotonic()
    while process.poll() is None:
        file_count = len(re.findall(rb"^(?:\[INFO\] )?Downloaded from ", log.read_bytes(), re.MULTILINE))
        elapsed = time.monotonic() - started
        report(f"fetching Apache Kafka {release.version} through Maven: {file_count} files, {elapsed:.0f} s")
        time.sleep(WATCH_INTERVAL_SECONDS)


def _failure_text(release: KafkaRelease, status: int, log: Path) -> str:
    last_lines = log.read_text(errors="replace").splitlines()[-FAILURE_LINES:]
    return "\n".join(
        [f"Maven could not fetch Apache Kafka {release.version} (exit status {status}):", *last_lines]
    )


def _maven_properties(release: KafkaRelease) -> list[str]:
    return [
        f"-Dkafka.version={release.version}",
        f"-Dlog.binding.group={release.log_binding.group_id}",
        f"-Dlog.binding.artifact={release.log_binding.artifact_id}",
        f"-Dlog.binding.version={release.log_binding.version}",
    ]
