"""The build hook: wheel and sdist carry the commit that they are made of.

A wheel that is made of an sdist carries the sdist's, which lies in the package by then. An editable installation
carries none, for its commit changes: `kproxy --version` asks git.
"""

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Adds the file with the commit to what is built; nothing is written into the tree."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file, where there is a git tree to ask."""
        root = Path(self.root)
        commits = _commits(root)
        commit = "" if version == "editable" else commits.commit_of_checkout(root)
        if commit:
            self._folder = TemporaryDirectory()
            carried = Path(self._folder.name) / commits.COMMIT_FILE
            carried.write_text(f"{commit}\n", encoding="ascii")
            build_data["force_include"][str(carried)] = f"kproxy/{commits.COMMIT_FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written for the build."""
        del version, build_data, artifact_path
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _commits(root: Path) -> ModuleType:
    """Return the module that knows about commits. kproxy itself is not imported: what it needs may be missing."""
    spec = importlib.util.spec_from_file_location("commit", root / "kproxy" / "cli" / "commit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
