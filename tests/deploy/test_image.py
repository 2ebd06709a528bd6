"""What the image is built of, and what it is not: there is no engine here that builds it."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCKERFILE: Final = ROOT / "deploy" / "image" / "Dockerfile"
IGNORED: Final = DOCKERFILE.with_name("Dockerfile.dockerignore")

Instructions = list[tuple[str, str]]


def stages() -> list[Instructions]:
    """The instructions of each stage, what stands before the first one in front of them."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    joined = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found: list[Instructions] = [[]]
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest.strip()))
    return found


def said(instructions: Instructions, name: str) -> list[str]:
    return [rest for each, rest in instructions if each == name]


def project() -> Mapping[str, Any]:
    found: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_what_runs_is_a_stage_in_which_nothing_was_installed_or_compiled() -> None:
    # When
    _, builder, final = stages()

    # Then
    assert said(builder, "FROM") == ["${PYTHON_IMAGE} AS builder"]
    assert said(final, "FROM") == ["${PYTHON_IMAGE}"]
    assert said(final, "COPY") == ["--from=builder /opt/kproxy /opt/kproxy"]
    assert said(final, "RUN") == []


def test_the_base_is_slim_and_of_one_version_of_python_that_kproxy_runs_on() -> None:
    # When
    (image,) = said(stages()[0], "ARG")

    # Then
    found = re.fullmatch(r"PYTHON_IMAGE=python:3\.(\d+)-slim-bookworm", image)
    assert found
    lowest = re.fullmatch(r">=3\.(\d+)", project()["requires-python"])
    assert lowest
    assert int(found[1]) >= int(lowest[1])


def test_it_runs_kproxy_as_nobody_special() -> None:
    # When
    final = stages()[-1]

    # Then
    assert said(final, "USER") == ["65532:65532"]
    assert said(final, "ENTRYPOINT") == ['["kproxy"]']
    assert said(final, "CMD") == ['["run"]']
    assert said(final, "HEALTHCHECK") == ["NONE"]
    assert said(final, "STOPSIGNAL") == ["SIGTERM"]


def test_spark_is_asked_for_by_extras_alone_and_no_extra_is_installed() -> None:
    # When
    commands = " ".join(rest for stage in stages() for name, rest in stage if name == "RUN")

    # Then
    assert not [name for name in project()["dependencies"] if re.match(r"pyspark|pandas|matplotlib", name)]
    assert "[" not in commands.replace('[ -n "${COMMIT}" ]', "")
    assert "apt-get" not in commands


def test_what_is_installed_is_pinned_and_never_compiled() -> None:
    # When
    (installing,) = [rest for rest in said(stages()[1], "RUN") if "/wheels/*.whl" in rest]

    # Then
    assert "--only-binary :all:" in installing
    assert "--constraint constraints.txt" in installing


def test_what_the_builder_copies_is_there_and_let_in() -> None:
    # Given
    copied = {source for rest in said(stages()[1], "COPY") for source in rest.split()[:-1]}

    # When
    patterns = IGNORED.read_text(encoding="utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in patterns if line.startswith("!")}

    # Then
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert copied == let_in
    assert "*" in patterns
