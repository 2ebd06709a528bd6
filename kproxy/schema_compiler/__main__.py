"""`python -m kproxy.schema_compiler [--check]`: write the message modules, or name those out of date.

Exit status: 0 all is well; 1 `--check` found files that differ; 2 a definition was not understood.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kproxy.schema_compiler.emit_messages import emit_package
from kproxy.schema_compiler.schema_model import SchemaError, read_schemas

_PROJECT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m kproxy.schema_compiler", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file differs")
    parser.add_argument(
        "--schemas", type=Path, default=_PROJECT / "schemas", help="where the definitions are"
    )
    parser.add_argument(
        "--messages", type=Path, default=_PROJECT / "kproxy" / "wire" / "messages", help="the package"
    )
    options = parser.parse_args(arguments)
    try:
        wanted = _formatted(emit_package(read_schemas(options.schemas)))
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 2
    present = {path.name: path.read_text(encoding="utf-8") for path in options.messages.glob("*.py")}
    differing = sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )
    if options.check:
        return _report(options.messages, differing)
    _write(options.messages, {name: wanted.get(name) for name in differing})
    return 0


def _formatted(files: dict[str, str]) -> dict[str, str]:
    """Return the files as the formatter lays them out with the project's settings."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            Path(directory, name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--no-cache"]
        command += ["--config", str(_PROJECT / "pyproject.toml"), directory]
        subprocess.run(command, check=True)  # noqa: S603 - a fixed command on files just written
        return {name: Path(directory, name).read_text(encoding="utf-8") for name in files}


def _report(package: Path, differing: Sequence[str]) -> int:
    for name in differing:
        print(f"{package / name} is out of date: run make generate", file=sys.stderr)
    return 1 if differing else 0


def _write(package: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        if text is None:
            (package / name).unlink()
        else:
            (package / name).write_text(text, encoding="utf-8")
        print(f"{'removed' if text is None else 'wrote'} {package / name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
