"""Our own Java classes, compiled against the jars of the reference version."""

import functools
import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.real_kafka import jars, prerequisites
from tests.real_kafka.paths import HARNESS_FOLDER
from tests.real_kafka.versions import REFERENCE

SOURCE_FOLDER: Final = HARNESS_FOLDER / "java"
COMPILE_TIMEOUT_SECONDS: Final = 120


class CompilationFailed(RuntimeError):
    """`javac` refused a source; the message has what it said."""


@functools.cache
def compiled_classes() -> Path:
    """The folder of the compiled classes; compiled anew whenever a source has changed.

    Raises `CompilationFailed`, and `MissingPrerequisite` without a JDK.
    """
    sources = sorted(SOURCE_FOLDER.glob("*.java"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    jar_folder = jars.fetch(REFERENCE)
    classes = jar_folder / f"classes-{digest}"
    if not classes.exists():
        with tempfile.TemporaryDirectory(dir=jar_folder, prefix="compiling-") as scratch:
            _compile(sources, Path(scratch) / "classes")
            _publish(Path(scratch) / "classes", classes)
    return classes


def _compile(sources: list[Path], folder: Path) -> None:
    command: list[str | Path] = [
        prerequisites.javac(),
        "-Werror",
        "-Xlint:all",
        "-cp",
        jars.classpath(REFERENCE),
    ]
    answer = subprocess.run(
        [*command, "-d", folder, *sources],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        raise CompilationFailed(f"{answer.stdout}{answer.stderr}")


def _publish(compiled: Path, classes: Path) -> None:
    try:
        compiled.rename(classes)
    except OSError:
        # Somebody else compiled the same at the same time.
        if not classes.is_dir():
            raise
