"""`make sbom` and `make audit`: what users of the wheel install, under which licences, with which known holes.

Everything is said of an environment that holds the wheel and what it asks for, in the pinned versions, and nothing
else: not of a developer's, which has a hundred packages more.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / "build" / "supply-chain"
BILL: Final = BUILD / "kproxy.cdx.json"
LICENCES: Final = BUILD / "licences.txt"
TOOLS_LIST: Final = ROOT / ".ci" / "supply-chain-tools.txt"

EXIT_FOUND: Final = 1
"""A licence that nobody has looked at, or a known vulnerability."""
EXIT_NOT_AUDITED: Final = 75
"""The data about vulnerabilities could not be reached, so nothing is known (sysexits.h: EX_TEMPFAIL)."""

ACCEPTED: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache Software License",
        "Apache License 2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "MIT",
        "MIT License",
        "PSF-2.0",
    }
)
"""Licences under which kproxy may be passed on together with the package, by SPDX id or as packages name them."""


ADVICE: Final = (
    "nobody has looked at its licence; if it may go with kproxy, add it to ACCEPTED in supply_chain.py"
)

_CLASSIFIER: Final = "License :: OSI Approved :: "


@dataclass(frozen=True, slots=True)
class Component:
    """A package of the bill of materials, and the licences that it names."""

    name: str
    version: str
    licences: frozenset[str]

    @property
    def is_accepted(self) -> bool:
        """Whether one of its licences, or all parts of an expression, are among `ACCEPTED`."""
        return any(map(_is_accepted, self.licences))


def components_of(bill: Mapping[str, Any]) -> list[Component]:
    """Return the components of a CycloneDX document, by name."""
    found = [
        Component(each["name"], each.get("version", "?"), frozenset(_licences(each.get("licenses", ()))))
        for each in bill.get("components", ())
    ]
    return sorted(found, key=lambda component: component.name.lower())


def licence_lines(components: Iterable[Component]) -> list[str]:
    """Return a line for each component: name, version, licences."""
    rows = [
        (each.name, each.version, " | ".join(sorted(each.licences)) or "none named") for each in components
    ]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:2]] or [0, 0]
    return [f"{name:<{widths[0]}}  {version:<{widths[1]}}  {licence}" for name, version, licence in rows]


def audit_verdict(report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Return the exit code and what to say of what pip-audit found (its JSON).

    pip-audit itself ends with 0 where it knew nothing of any package; that is not "no known vulnerability".
    """
    packages = report.get("dependencies", [])
    skipped = [each for each in packages if "skip_reason" in each and each["name"] != "kproxy-share-groups"]
    holes = [_hole_line(each, hole) for each in packages for hole in each.get("vulns", ())]
    if holes:
        return EXIT_FOUND, holes
    if skipped:
        reasons = Counter(each["skip_reason"].split(":")[0] for each in skipped)
        return EXIT_NOT_AUDITED, [
            f"not audited: {len(skipped)} of {len(packages)} packages ({reasons.most_common(1)[0][0]})",
            "The package index that pip uses here serves no advisories: run `make audit` where the public one answers.",
        ]
    return 0, [f"no known vulnerability in {len(packages)} packages"]


def main() -> int:
    """Do what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="tests.packaging.supply_chain", description=__doc__)
    parser.add_argument("what", choices=["bill", "audit"])
    wanted = parser.parse_args().what
    environment = _installed_wheel()
    tools = _tools()
    return _bill(tools, environment) if wanted == "bill" else _audit(tools, environment)


def _bill(tools: Path, environment: Path) -> int:
    _run(
        tools / "cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml", "--output-reproducible",
        "--of", "JSON", "-o", BILL, environment / "bin" / "python",
    )  # fmt: skip
    components = [
        each for each in components_of(json.loads(BILL.read_text())) if each.name not in {"pip", "setuptools"}
    ]
    LICENCES.write_text("\n".join(licence_lines(components)) + "\n")
    print(LICENCES.read_text(), end="")
    print(f"bill of materials: {BILL.relative_to(ROOT)} ({len(components)} packages)")
    unknown = [each for each in components if not each.is_accepted]
    for each in unknown:
        print(f"{each.name}: {ADVICE}", file=sys.stderr)
    return EXIT_FOUND if unknown else 0


def _audit(tools: Path, environment: Path) -> int:
    [packages] = environment.glob("lib/python*/site-packages")
    done = subprocess.run(
        [tools / "pip-audit", "--path", packages, "--format", "json", "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        code, lines = audit_verdict(json.loads(done.stdout))
    except ValueError:
        code, lines = (
            EXIT_NOT_AUDITED,
            [f"not audited: pip-audit ended with {done.returncode}", done.stderr.strip()],
        )
    print("\n".join(lines), file=sys.stderr if code else sys.stdout)
    return code


def _installed_wheel() -> Path:
    wheels, environment = BUILD / "wheel", BUILD / "environment"
    for old in wheels.glob("*.whl"):
        old.unlink()
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT)
    _run(sys.executable, "-m", "venv", "--clear", environment)
    [wheel] = wheels.glob("*.whl")
    _install(environment, "--constraint", ROOT / "constraints.txt", wheel)
    return environment


def _tools() -> Path:
    tools = BUILD / "tools"
    _run(sys.executable, "-m", "venv", tools)
    _install(tools, "--requirement", TOOLS_LIST)
    return tools / "bin"


def _install(environment: Path, *what: str | Path) -> None:
    _run(
        environment / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *what,
    )


def _run(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )


def _licences(entries: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for entry in entries:
        licence = entry.get("license", {})
        named = entry.get("expression") or licence.get("id") or licence.get("name") or "?"
        yield named.removeprefix(_CLASSIFIER)


def _hole_line(package: Mapping[str, Any], hole: Mapping[str, Any]) -> str:
    mended = ", ".join(hole["fix_versions"]) or "no version"
    return f"{package['name']} {package['version']}: {hole['id']}, mended in {mended}"


def _is_accepted(licence: str) -> bool:
    parts = licence.replace("(", "").replace(")", "").split(" AND ")
    return all(any(choice.strip() in ACCEPTED for choice in part.split(" OR ")) for part in parts)


if __name__ == "__main__":
    sys.exit(main())
