"""What .ci/run adds to `make`: a machine that never built kproxy, and a demo that is believed only if it says so."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
CACHES: Final = ROOT / "build" / "caches"
CLOSING_LINE: Final = "  The sums add up, after 45.6 s in all."
SUMMARY: Final = "===== 7 passed in 1.00s ====="
MAKE: Final = """#!/usr/bin/env bash
cached=$(ls "$PIP_CACHE_DIR" 2>/dev/null) here=$(ls -d .venv build/kafka 2>/dev/null)
echo "make $*; cached by pip: $cached; here: $here; read: $(cat)"
mkdir -p "$PIP_CACHE_DIR" && touch "$PIP_CACHE_DIR/of-$1"
if [[ $1 == demo ]]; then printf '%s\\n' "$CLOSING" '  everything is stopped'; exit "$STATUS_OF_DEMO"; fi
echo "$SUMMARY"; exit "$STATUS_OF_TEST"
"""
"""Stands for make: says what it finds, leaves something in a cache, and ends as the test wants it."""


def seen_on_a_bare_machine(**variables: str) -> Mapping[str, str]:
    """The environment that .ci/bare-machine gives to a command, on a machine with these variables."""
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    ended = subprocess.run(
        [ROOT / ".ci" / "bare-machine", sys.executable, "-I", "-c", show],
        env={"PATH": os.environ["PATH"], "HOME": "/home/of-somebody", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(ended.stdout)
    assert isinstance(seen, dict)
    return seen


class Tree:
    """A folder with .ci/ and something in the place of make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        (folder / "programs").mkdir()
        make = folder / "programs" / "make"
        make.write_text(MAKE)
        make.chmod(0o755)

    def run(
        self, *, closing: str = CLOSING_LINE, status_of_demo: int = 0, status_of_test: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run .ci/run to its end, with a terminal's worth of input that nobody should read."""
        environment = {
            "PATH": f"{self.folder / 'programs'}:{os.environ['PATH']}",
            "CLOSING": closing,
            "SUMMARY": SUMMARY,
            "STATUS_OF_DEMO": str(status_of_demo),
            "STATUS_OF_TEST": str(status_of_test),
        }
        return subprocess.run(
            [self.folder / ".ci" / "run"],
            env=environment,
            input="yes\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_every_cache_is_a_folder_of_ours_and_home_stays() -> None:
    # When
    seen = seen_on_a_bare_machine(
        PIP_CACHE_DIR="/theirs", npm_config_cache="/theirs", NPM_CONFIG_CACHE="/theirs", GOMODCACHE="/theirs"
    )

    # Then
    assert seen["HOME"] == "/home/of-somebody"
    assert seen["PIP_CACHE_DIR"] == str(CACHES / "pip")
    assert seen["npm_config_cache"] == str(CACHES / "npm")
    assert "NPM_CONFIG_CACHE" not in seen
    assert [seen["GOMODCACHE"], seen["GOCACHE"]] == [str(CACHES / "go/pkg/mod"), str(CACHES / "go-build")]
    assert seen["XDG_CACHE_HOME"] == str(CACHES / "xdg")


@pytest.mark.parametrize("variable", ["MAVEN_OPTS", "MAVEN_ARGS"])
def test_mavens_repository_is_ours_and_its_other_options_stay(variable: str) -> None:
    # When
    seen = seen_on_a_bare_machine(**{variable: "-Dhttps.proxyHost=proxy -Dmaven.repo.local=/theirs"})

    # Then: of two equal properties the last one counts
    assert seen[variable].split() == [
        "-Dhttps.proxyHost=proxy",
        "-Dmaven.repo.local=/theirs",
        f"-Dmaven.repo.local={CACHES / 'maven'}",
    ]


def test_nothing_stands_in_for_a_step_that_is_missing() -> None:
    # Given
    names = "PIP_CONSTRAINT PIP_TARGET PIP_PRE PYTHONPATH PYTHONUSERBASE SPARK_HOME PYSPARK_PYTHON CLASSPATH NODE_PATH"
    names += " npm_config_prefer_offline MAKEFLAGS PYTEST_ADDOPTS KEEP DEMO_NATIVE KPROXY_KAFKA_CACHE"
    stand_ins = dict.fromkeys(names.split(), "/theirs")

    # When
    seen = seen_on_a_bare_machine(PIP_FIND_LINKS="/theirs", PIP_NO_INDEX="1", **stand_ins)

    # Then
    assert stand_ins.keys() & seen.keys() == set()
    assert list(Path(seen["PIP_FIND_LINKS"]).iterdir()) == []
    assert seen["PIP_NO_INDEX"] == "false"


def test_the_way_to_package_indexes_stays() -> None:
    # Given
    names = "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_CERT PIP_PROXY PIP_CONFIG_FILE"
    names += " npm_config_registry GOPROXY HTTPS_PROXY SSL_CERT_FILE JAVA_HOME"
    way = {name: f"value-of-{name}" for name in names.split()}

    # When
    seen = seen_on_a_bare_machine(**way)

    # Then
    assert way.items() <= seen.items()


def test_what_was_installed_fetched_or_cached_before_is_gone(tree: Tree) -> None:
    # Given
    tree.run()
    (tree.folder / ".venv").mkdir()
    (tree.folder / "build" / "kafka").mkdir()

    # When
    ended = tree.run()

    # Then
    assert ended.stdout.splitlines()[0] == "make demo; cached by pip: ; here: ; read: "
    assert "make test; cached by pip: of-demo; here: ; read: " in ended.stdout.splitlines()


def test_the_last_line_is_the_summary_of_the_tests(tree: Tree) -> None:
    # When
    ended = tree.run()

    # Then
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == SUMMARY


def test_failing_tests_fail_it(tree: Tree) -> None:
    assert tree.run(status_of_test=2).returncode == 2


@pytest.mark.parametrize(
    ("closing", "status"), [(CLOSING_LINE, 1), ("  something does not add up", 0), ("", 0)]
)
def test_a_demo_that_fails_or_does_not_say_that_its_sums_add_up_fails_it(
    tree: Tree, closing: str, status: int
) -> None:
    # When
    ended = tree.run(closing=closing, status_of_demo=status)

    # Then
    assert ended.returncode == 1
    assert "make test" not in ended.stdout
