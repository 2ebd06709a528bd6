"""The wheel: built, installed into an empty environment, and used from a folder that knows nothing of this tree."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Final

import pytest

from kproxy import __version__
from tests.real_kafka.readme_snippets import readme_commands

ROOT: Final = Path(__file__).resolve().parents[2]
DISTRIBUTION: Final = "kproxy_share_groups"

installs = pytest.mark.timeout(1200)
"""The first test of those that want `installed` builds the wheel, makes the environment, and waits for what the package
index sends. Each of these may take the four minutes of `ended`, and so may what is tested then."""


def ended(*command: str | Path, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with the folder `path` before all others that programs are looked for in."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KPROXY_"))
    }
    environment["PATH"] = os.pathsep.join(filter(None, [path, environment.get("PATH", os.defpath)]))
    return subprocess.run(
        list(command), cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def run(*command: str | Path, folder: Path, path: str = "") -> str:
    done = ended(*command, folder=folder, path=path)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    (built,) = folder.glob(f"{DISTRIBUTION}-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, folder=folder)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, folder=folder)
    return folder / "bin"


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    # When
    names = zipfile.ZipFile(wheel).namelist()

    # Then
    assert {name.partition("/")[0] for name in names} == {"kproxy", f"{DISTRIBUTION}-{__version__}.dist-info"}
    assert "kproxy/py.typed" in names
    assert {"kproxy/admin/ui/static/index.html", "kproxy/admin/ui/static/vendor/uplot/LICENSE"} < set(names)
    assert f"{DISTRIBUTION}-{__version__}.dist-info/licenses/LICENSE" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_distribution_has_a_name_of_its_own(wheel: Path) -> None:
    """The package index has another project that is called kproxy: who asks for that name must not get it here."""
    # When
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"{DISTRIBUTION}-{__version__}.dist-info/METADATA"))

    # Then
    assert metadata["Name"] == "kproxy-share-groups"


@installs
def test_the_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "kproxy", "version", folder=tmp_path).startswith(f"kproxy {__version__} ")


@installs
def test_the_installed_command_explains_itself(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "kproxy", "--help", folder=tmp_path).startswith("Usage: kproxy ")


@installs
@pytest.mark.soak
def test_every_installed_module_can_be_imported(installed: Path, tmp_path: Path) -> None:
    """What is imported at run time is asked for by the wheel, and nothing is read from beside the package.

    The jobs are for those who ask for the extra `spark`.
    """
    # Given
    walk = (
        "import pkgutil, importlib, kproxy\n"
        "def skip(name): pass\n"
        "for module in pkgutil.walk_packages(kproxy.__path__, 'kproxy.', onerror=skip):\n"
        "    if module.name.endswith('__main__') or module.name.startswith('kproxy.jobs.'): continue\n"
        "    importlib.import_module(module.name)\n"
        "print(kproxy.__file__)"
    )

    # When
    where = run(installed / "python", "-W", "error", "-c", walk, folder=tmp_path)

    # Then
    assert where.startswith(str(installed.parent))


@installs
def test_replay_without_its_extra_says_how_to_install_it(installed: Path, tmp_path: Path) -> None:
    # When
    asked = ended(installed / "kproxy", "replay", "--help", folder=tmp_path)

    # Then
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "needs PySpark" in asked.stderr
    assert "pip install '.[spark]'" in asked.stderr


@pytest.fixture
def environment_with_dependencies(tmp_path: Path) -> str:
    """The folder of programs of an environment that finds here whatever kproxy asks for, and has no kproxy itself."""
    folder = tmp_path / "environment"
    run(sys.executable, "-m", "venv", folder, folder=tmp_path)
    here = sysconfig.get_path("purelib")
    there = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (there / "dependencies.pth").write_text(f"{here}\n")
    return str(folder / "bin")


@pytest.mark.parametrize("command", [*readme_commands("pip install ."), *readme_commands("pip install '.")])
@pytest.mark.soak
def test_a_checkout_is_installed_as_the_readme_says(
    environment_with_dependencies: str, command: str, tmp_path: Path
) -> None:
    # When
    run("bash", "-c", command, folder=ROOT, path=environment_with_dependencies)

    # Then
    assert_installed(environment_with_dependencies, tmp_path)


@pytest.mark.parametrize("command", readme_commands("pip install 'dist/"))
@pytest.mark.soak
def test_a_wheel_is_installed_as_the_readme_says(
    environment_with_dependencies: str, command: str, wheel: Path, tmp_path: Path
) -> None:
    # Given
    (tmp_path / "dist").symlink_to(wheel.parent)

    # When
    run("bash", "-c", command, folder=tmp_path, path=environment_with_dependencies)

    # Then
    assert_installed(environment_with_dependencies, tmp_path)


def assert_installed(programs: str, folder: Path) -> None:
    where = run(Path(programs) / "python", "-c", "import kproxy; print(kproxy.__file__)", folder=folder)
    assert where.startswith(str(Path(programs).parent))
    assert run(Path(programs) / "kproxy", "version", folder=folder).startswith(f"kproxy {__version__} ")
