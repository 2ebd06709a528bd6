"""deploy/README.md names everything in deploy/, so that its table says of each what was tested and what was not."""

import re
import subprocess
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy"


def test_every_file_is_named_or_lies_where_the_table_points() -> None:
    # Given
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    linked = {(FOLDER / target).resolve() for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", readme)}
    # What belongs to a file that is named lies beside it: compose/.gitignore, say.
    folders = {path if path.is_dir() else path.parent for path in linked if path.is_relative_to(FOLDER)} - {
        FOLDER
    }

    # When
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."]
    names = subprocess.run(listed, cwd=FOLDER, capture_output=True, text=True, check=True).stdout
    files = [FOLDER / name for name in filter(None, names.split("\0"))]

    # Then
    unnamed = [
        str(path.relative_to(FOLDER))
        for path in files
        if path not in linked
        and path != FOLDER / "README.md"
        and not any(path.is_relative_to(each) for each in folders)
    ]
    assert files
    assert unnamed == []
