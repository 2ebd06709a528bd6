"""What is released: a wheel and an sdist, complete, of a known commit, and of use where nothing else is installed."""

import json
import re
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Final

import pytest

from kproxy import __version__
from kproxy.cli.commit import COMMIT_FILE, own_commit
from tests.packaging.test_wheel import DISTRIBUTION, ROOT, ended, run
from tests.real_kafka.child import Child
from tests.real_kafka.ports import ReservedPort

WHEEL: Final = f"{DISTRIBUTION}-{__version__}-py3-none-any.whl"
SDIST: Final = f"{DISTRIBUTION}-{__version__}.tar.gz"
TOP: Final = f"{DISTRIBUTION}-{__version__}"
LISTENING_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, built as a maintainer builds them: the wheel is made of the sdist. Build tools are those installed here."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.fixture(scope="module")
def in_wheel(dist: Path) -> Mapping[str, bytes]:
    with zipfile.ZipFile(dist / WHEEL) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def in_sdist(dist: Path) -> Mapping[str, bytes]:
    with tarfile.open(dist / SDIST) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name.removeprefix(f"{TOP}/"): file.read() for name, file in files.items() if file is not None}


@pytest.fixture(scope="module")
def metadata(in_wheel: Mapping[str, bytes]) -> Message:
    return message_from_bytes(in_wheel[f"{TOP}.dist-info/METADATA"])


def files_in_git(*folders: str) -> set[str]:
    """Return what git knows, or would add."""
    if not (ROOT / ".git").exists():
        pytest.skip("what belongs to kproxy is told by git, and this is no checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def test_the_wheel_has_every_file_of_the_package_and_the_commit_and_nothing_else(
    in_wheel: Mapping[str, bytes],
) -> None:
    # When
    names = {name for name in in_wheel if not name.startswith(f"{TOP}.dist-info/")}

    # Then
    assert names == files_in_git("kproxy") | {f"kproxy/{COMMIT_FILE}"}
    assert {"kproxy/admin/api_v1.schema.json", "kproxy/wire/messages/fetch_request.py"} < names
    assert any(name.startswith("kproxy/admin/ui/static/") for name in names)


def test_an_sdist_is_enough_to_build_and_to_test(in_sdist: Mapping[str, bytes]) -> None:
    # When
    missing = files_in_git() - in_sdist.keys()

    # Then
    assert missing <= {".gitignore"} | files_in_git(".github")
    assert in_sdist.keys() - files_in_git() == {"PKG-INFO", f"kproxy/{COMMIT_FILE}"}


def test_both_carry_the_commit_that_they_are_made_of(
    in_sdist: Mapping[str, bytes], in_wheel: Mapping[str, bytes]
) -> None:
    assert (
        in_sdist[f"kproxy/{COMMIT_FILE}"] == in_wheel[f"kproxy/{COMMIT_FILE}"] == f"{own_commit()}\n".encode()
    )


def test_building_leaves_no_commit_behind_in_the_checkout(dist: Path) -> None:
    assert not (ROOT / "kproxy" / COMMIT_FILE).exists()


def test_spark_is_not_asked_for_unless_somebody_wants_it(metadata: Message) -> None:
    # When
    asked_for = {name for line in metadata.get_all("Requires-Dist", ()) if "extra ==" not in line
                 for name in re.findall(r"^[\w-]+", line)}  # fmt: skip

    # Then
    assert "kafka-python" in asked_for
    assert asked_for & {"pyspark", "pandas", "numpy", "pyarrow", "matplotlib", "confluent-kafka"} == set()
    assert {"spark", "demo", "dev"} <= set(metadata.get_all("Provides-Extra", ()))


# ---------------------------------------------------- in empty environments


@pytest.fixture(scope="module")
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, built with build tools that come from the package index."""
    folder = tmp_path_factory.mktemp("isolated")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.fixture(scope="module", params=[WHEEL, SDIST], ids=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest, isolated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The programs of an environment with one of them and what it asks for, from the package index."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, folder=folder)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--constraint", ROOT / "constraints.txt", isolated / request.param, folder=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def commit(isolated: Path) -> str:
    """What the wheel carries."""
    with zipfile.ZipFile(isolated / WHEEL) as archive:
        return archive.read(f"kproxy/{COMMIT_FILE}").decode().strip()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_installed_command_says_version_and_commit(installed: Path, commit: str, tmp_path: Path) -> None:
    # When
    said = run(installed / "kproxy", "--version", folder=tmp_path)

    # Then
    assert said.startswith(f"kproxy {__version__} (commit {commit}, Python 3.")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_what_is_installed_fits_together_and_spark_is_not_among_it(installed: Path, tmp_path: Path) -> None:
    # When
    pip = (installed / "python", "-m", "pip", "--disable-pip-version-check")
    checked = ended(*pip, "check", folder=tmp_path)
    listed = run(*pip, "list", "--format=freeze", folder=tmp_path)

    # Then
    assert (checked.returncode, checked.stdout) == (0, "No broken requirements found.\n")
    assert "pyspark" not in listed


@pytest.fixture
def serving(installed: Path) -> Iterator[str]:
    """The address of the admin port of an installed kproxy that runs in front of no cluster at all."""
    with ReservedPort() as listen, ReservedPort() as admin, ReservedPort() as nobody:
        settings = ("-X", f"kproxy.listen={listen.address}", "-X", f"kproxy.admin.listener={admin.address}")
        command: list[str | Path] = [installed / "kproxy", "run", "-b", nobody.address, *settings]
        with Child("installed kproxy", command) as kproxy:
            until_it_listens(kproxy, admin)
            yield f"http://{admin.address}"


def until_it_listens(kproxy: Child, port: ReservedPort) -> None:
    deadline = time.monotonic() + LISTENING_SECONDS
    while True:
        try:
            socket.create_connection((port.host, port.number), timeout=1).close()
        except OSError:
            assert kproxy.is_running, kproxy.errors()
            assert time.monotonic() < deadline, kproxy.errors()
            time.sleep(POLL_SECONDS)
        else:
            return


def page(address: str) -> str:
    with urllib.request.urlopen(address, timeout=LISTENING_SECONDS) as answer:
        return str(answer.read().decode())


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_installed_proxy_runs_and_shows_its_pages(serving: str) -> None:
    assert json.loads(page(f"{serving}/livez"))["items"][0]["passed"] is True
    assert "<html" in page(f"{serving}/ui/")
    assert "kproxy_build_info{" in page(f"{serving}/metrics")
