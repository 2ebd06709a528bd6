"""Finds the JDK, Maven and Go, or says which package brings them."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OLDEST_JAVA_MAJOR_VERSION: Final = 17
"""What Kafka 4's brokers need."""

JDK_PACKAGE: Final = "openjdk-17-jdk-headless"
MAVEN_PACKAGE: Final = "maven"
GO_PACKAGE: Final = "golang-go"


class MissingPrerequisite(RuntimeError):
    """A program of the machine is missing or too old; the message names the Debian package to install."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that is new enough."""

    executable: Path
    build: str
    """Names this very build of the JVM: class data recorded by one build is of no use to another."""


def java() -> Java:
    """The Java of `JAVA_HOME`, else of `PATH`; raises `MissingPrerequisite` if none is new enough."""
    return _inspected_java(_jdk_program("java"))


def javac() -> Path:
    """The Java compiler; raises `MissingPrerequisite` if only a runtime is installed."""
    return _jdk_program("javac")


def maven() -> Path:
    """Maven's command; raises `MissingPrerequisite` if it is not installed."""
    found = shutil.which("mvn")
    if found is None:
        raise MissingPrerequisite(_advice("mvn is not installed", MAVEN_PACKAGE))
    return Path(found)


def go() -> Path:
    """Go's command; raises `MissingPrerequisite` if it is not installed."""
    found = shutil.which("go")
    if found is None:
        raise MissingPrerequisite(_advice("go is not installed", GO_PACKAGE))
    return Path(found)


def _jdk_program(name: str) -> Path:
    java_home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{java_home}/bin") if java_home else None
    found = found or shutil.which(name)
    if found is None:
        raise MissingPrerequisite(_advice(f"{name} is not installed", JDK_PACKAGE))
    return Path(found)


@functools.cache
def _inspected_java(executable: Path) -> Java:
    answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=False)
    said = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if answer.returncode != 0 or said is None:
        raise MissingPrerequisite(_advice(f"{executable} does not tell its version", JDK_PACKAGE))
    if int(said[1]) < OLDEST_JAVA_MAJOR_VERSION:
        problem = f"{executable} is Java {said[1]}, Kafka's brokers need {OLDEST_JAVA_MAJOR_VERSION} or newer"
        raise MissingPrerequisite(_advice(problem, JDK_PACKAGE))
    return Java(executable, hashlib.sha256(answer.stderr.encode()).hexdigest()[:12])


def _advice(problem: str, package: str) -> str:
    return f"{problem}: install it, on Debian and Ubuntu with: apt-get install {package}"
