"""What tests fetch once into a folder below `build/`; a stamp that is written last says that all is there."""

import functools
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.real_kafka import prerequisites
from tests.real_kafka.file_lock import file_lock
from tests.real_kafka.progress import progress


def fetched(folder: Path, pins: Sequence[Path], what: str, fetch: Callable[[], None]) -> None:
    """Have `fetch` fill `folder`, unless it did so before with the same text in `pins`; one process at a time does."""
    stamp = folder / "whole"
    text = "\n".join(path.read_text() for path in pins)
    folder.mkdir(parents=True, exist_ok=True)
    with progress() as report:
        waiting = functools.partial(report, f"waiting for another process that fetches {what}")
        with file_lock(folder / "fetch.lock", while_waiting=waiting):
            if not stamp.is_file() or stamp.read_text() != text:
                report(f"fetching {what}")
                stamp.unlink(missing_ok=True)
                fetch()
                stamp.write_text(text)


def fetch_jars(pom: Path, folder: Path) -> None:
    """Fill `folder` with the jars that `pom` names. Raises CalledProcessError, MissingPrerequisite."""
    shutil.rmtree(folder, ignore_errors=True)
    maven = (prerequisites.maven(), "--batch-mode", "--quiet", "--file", pom)
    command = [*maven, f"-DoutputDirectory={folder}", "dependency:copy-dependencies"]
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
