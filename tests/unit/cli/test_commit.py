"""Of which commit a kproxy is: what it carries, or what git says where it is run from a checkout, or nothing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from kproxy.cli.commit import COMMIT_FILE, commit_of_checkout, commit_of_package


def git(folder: Path, *command: str) -> str:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", "-C", folder, *identity, *command], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def no_git_of_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git tree with a package in it, all of it committed."""
    folder = tmp_path / "checkout"
    package = folder / "kproxy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder


def test_a_checkout_is_of_its_commit(checkout: Path) -> None:
    # When
    commit = commit_of_checkout(checkout)

    # Then
    assert re.fullmatch("[0-9a-f]{12}", commit)
    assert git(checkout, "rev-parse", "HEAD").startswith(commit)


def test_changes_that_are_not_committed_are_told(checkout: Path) -> None:
    # Given
    (checkout / "kproxy" / "__init__.py").write_text("changed = True\n")

    # When / Then
    assert re.fullmatch("[0-9a-f]{12}-dirty", commit_of_checkout(checkout))


def test_a_tag_does_not_take_the_place_of_the_commit(checkout: Path) -> None:
    # Given
    git(checkout, "tag", "-a", "v1", "-m", "v1")

    # When / Then
    assert git(checkout, "rev-parse", "HEAD").startswith(commit_of_checkout(checkout))


def test_what_lies_in_the_git_tree_of_something_else_is_not_of_its_commit(checkout: Path) -> None:
    # Given: an sdist that was unpacked there
    (unpacked := checkout / "vendor" / "kproxy-share-groups").mkdir(parents=True)

    # When / Then
    assert commit_of_checkout(unpacked) == ""


def test_a_git_tree_without_a_commit_has_none(tmp_path: Path) -> None:
    # Given
    git(tmp_path, "init", "--quiet")

    # When / Then
    assert commit_of_checkout(tmp_path) == ""


def test_without_git_there_is_no_commit_and_no_failure(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setenv("PATH", str(checkout))

    # When / Then
    assert commit_of_checkout(checkout) == ""


def test_a_git_that_hangs_is_not_waited_for(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    (programs := tmp_path / "programs").mkdir()
    hanging = programs / "git"
    hanging.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))

    # When / Then
    assert commit_of_checkout(checkout, timeout_s=0.05) == ""


def test_a_package_says_the_commit_that_it_carries_wherever_it_lies(checkout: Path) -> None:
    # Given
    (checkout / "kproxy" / COMMIT_FILE).write_text("0123456789ab\n")

    # When / Then
    assert commit_of_package(checkout / "kproxy") == "0123456789ab"


def test_a_package_of_a_checkout_asks_git(checkout: Path) -> None:
    assert commit_of_package(checkout / "kproxy") == commit_of_checkout(checkout)


def test_a_package_that_carries_none_and_is_of_no_checkout_has_none(tmp_path: Path) -> None:
    # Given
    (package := tmp_path / "site-packages" / "kproxy").mkdir(parents=True)

    # When / Then
    assert commit_of_package(package) == ""


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"x" * 200, b"<html>\n", b"../../etc"])
def test_what_is_no_commit_is_not_shown(content: bytes, tmp_path: Path) -> None:
    # Given
    (package := tmp_path / "kproxy").mkdir()
    (package / COMMIT_FILE).write_bytes(content)

    # When / Then
    assert commit_of_package(package) == ""
