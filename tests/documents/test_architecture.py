"""kproxy/ARCHITECTURE.md: its package table and its ladder say what the tree and the import contracts say.

The ladder is the first fenced block of the section `## The ladder`; the packages are the first column of the table in
the section `## Packages`, each between backticks.
"""

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ARCHITECTURE: Final = ROOT / "kproxy" / "ARCHITECTURE.md"


def section(heading: str) -> str:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{ARCHITECTURE.name} has no section '## {heading}'"
    return found[1]


def members_of_kproxy() -> set[str]:
    folder = ROOT / "kproxy"
    packages = {path.name for path in folder.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    return packages | modules


def contract_of_ladder() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (ladder,) = [
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["containers"] == ["kproxy"]
    ]
    layers = ladder["layers"]
    assert isinstance(layers, list)
    return layers


def is_configuration_key(name: str) -> bool:
    """Tell `share.auto.offset.reset`, a key, from `share.share_group`, a module."""
    package, module, *_ = name.split(".")
    folder = ROOT / "kproxy" / package
    return package == "share" and not any(path.stem == module for path in folder.iterdir())


def test_the_package_table_names_every_package_and_no_other() -> None:
    # When
    named = re.findall(r"^\| `(\w+)` \|", section("Packages"), re.MULTILINE)

    # Then
    assert len(named) == len(set(named))
    assert set(named) == members_of_kproxy()


def test_the_ladder_is_the_one_that_import_linter_checks() -> None:
    # When
    found = re.search(r"```\n(.*?)```", section("The ladder"), re.DOTALL)

    # Then
    assert found is not None, "the section '## The ladder' has no fenced block"
    assert found[1].splitlines() == contract_of_ladder()


def test_every_package_stands_on_the_ladder_but_those_that_nobody_imports() -> None:
    # When
    on_ladder = {name for layer in contract_of_ladder() for name in layer.split(" | ")}

    # Then
    assert members_of_kproxy() - on_ladder == {"jobs", "schema_compiler"}


def test_every_module_that_is_mentioned_exists() -> None:
    # Given
    text = ARCHITECTURE.read_text(encoding="utf-8")
    packages = "|".join(sorted(members_of_kproxy()))

    # When
    files = set(re.findall(rf"`((?:{packages})/[\w/]+\.py)`", text))
    names = re.findall(rf"`((?:{packages})(?:\.[a-z_]+)+)`", text)
    dotted = {f"{name.replace('.', '/')}.py" for name in names if not is_configuration_key(name)}

    # Then
    missing = sorted(name for name in files | dotted if not (ROOT / "kproxy" / name).exists())
    assert files
    assert not missing


def test_every_place_of_the_table_of_changes_exists() -> None:
    # When
    rows = re.findall(r"^\| .+? \| (.+) \|$", section("Where to go"), re.MULTILINE)[1:]
    places = {place for row in rows for place in re.findall(r"`([\w/]+(?:/|\.py))`", row)}

    # Then
    assert len(rows) >= 20
    missing = sorted(
        place for place in places if not ((ROOT / "kproxy" / place).exists() or (ROOT / place).exists())
    )
    assert not missing
    assert all(re.search(r"`[\w/]+(?:/|\.py)`", row) for row in rows)
