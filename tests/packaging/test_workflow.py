"""The workflow for GitHub: it runs the README's commands as they stand there, with pinned actions and no rights."""

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.packaging.test_wheel import ROOT
from tests.real_kafka.readme_snippets import readme_commands

WORKFLOW: Final = ROOT / ".github" / "workflows" / "ci.yml"
SETTING_UP: Final = ("sudo apt-get ", "sudo sysctl ")
"""What the README leaves to the reader: packages of the distribution, and a setting of the kernel."""


@pytest.fixture
def workflow() -> dict[Any, Any]:
    parsed = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert isinstance(parsed, dict)
    return parsed


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def commands(step: dict[str, Any]) -> list[str]:
    """Return the commands of a step, without comments; what goes on in the next line is one."""
    lines = str(step.get("run", "")).replace("\\\n", "").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip() and not line.strip().startswith("#")]


def test_the_readmes_commands_are_run_in_their_order_and_nothing_else(workflow: dict[Any, Any]) -> None:
    # When: what looks at a failure comes behind
    run = [command for step in steps(workflow) if "if" not in step for command in commands(step)]

    # Then
    assert [command for command in run if not command.startswith(SETTING_UP)] == [
        *readme_commands("make demo"),
        *readme_commands("make test"),
    ]


def test_the_packages_are_those_that_the_prerequisites_name(workflow: dict[Any, Any]) -> None:
    # Given: a machine that has none of the programs
    programs = ("python", "java", "maven", "go", "ip")
    told = subprocess.run(
        ["/bin/bash", ROOT / ".ci" / "prerequisites", *programs],
        env={"PATH": "/nowhere"},
        check=False,
        capture_output=True,
        text=True,
    )

    # When
    (install,) = [
        command for step in steps(workflow) for command in commands(step) if "apt-get install" in command
    ]

    # Then
    named = re.search(r"apt(?:-get)? install ([\w .+-]+)", told.stdout + told.stderr)
    assert named is not None, told
    assert set(named[1].split()) <= set(install.split())


def test_actions_are_pinned_to_a_commit_that_is_told_by_its_version(workflow: dict[Any, Any]) -> None:
    # When
    used = re.findall(r"uses: (\S+)(.*)", WORKFLOW.read_text(encoding="utf-8"))

    # Then
    assert len(used) == len([step for step in steps(workflow) if "uses" in step])
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action) for action, _ in used), used
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used), used


def test_a_change_of_a_stranger_gets_no_rights_and_no_secrets(workflow: dict[Any, Any]) -> None:
    # Given: YAML 1.1 reads the key as a truth value
    triggers = workflow[True]

    # Then
    assert set(triggers) == {"push", "pull_request"}
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())
    assert "secrets" not in WORKFLOW.read_text(encoding="utf-8")
    assert all(step["with"]["persist-credentials"] is False for step in steps(workflow) if "uses" in step)


def test_no_text_that_others_choose_becomes_a_command(workflow: dict[Any, Any]) -> None:
    assert not [command for step in steps(workflow) for command in commands(step) if "${{" in command]


def test_a_job_that_hangs_ends(workflow: dict[Any, Any]) -> None:
    assert all(0 < job["timeout-minutes"] <= 360 for job in workflow["jobs"].values())


def test_it_says_that_it_was_not_run() -> None:
    assert "was never run" in " ".join(Path(WORKFLOW).read_text(encoding="utf-8").splitlines()[:3])
