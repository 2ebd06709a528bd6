"""deploy/RUNBOOK.md as it stands there: the section of each alert, and the commands in it."""

import re
from typing import Final

from tests.deploy.rule_files import DEPLOY

TEXT: Final = (DEPLOY / "RUNBOOK.md").read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """Return the text under each heading that is an alert's."""
    parts = re.split(r"^## (\w+)\n", TEXT, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def fenced(text: str) -> list[str]:
    """Return the commands of the blocks: what a section says to run."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def inline(text: str) -> list[str]:
    """Return the commands of kproxy that stand in sentences: remedies."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [code for code in re.findall(r"`([^`\n]+)`", without_blocks) if code.startswith("kproxy ")]
