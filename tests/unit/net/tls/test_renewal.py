"""Files that change while kproxy runs, looked at one look at a time."""

import asyncio
import os
import shutil
import threading
from pathlib import Path

from kproxy.net.tls.contexts import MadeContext, listener_context
from kproxy.net.tls.pem_files import TlsUnusable
from kproxy.net.tls.renewal import LOOKS_AFTER_FAILURE, RenewedContext
from kproxy.settings.choices import ClientAuth
from tests.unit.net.tls_contexts import PLAIN_TERMS, now_ms
from tests.worlds.backing import CountedThings
from tests.worlds.certificates import issued


class Watched:
    """A context of one file, which begins with the certificate `old`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.counted = CountedThings()
        self.failing_for = 0
        self.may_be_read = threading.Event()
        self.may_be_read.set()
        if not file.exists():
            self.put("old")
        self.renewed = RenewedContext(
            "listener", [str(file)], self._make, wall_ms=now_ms, counting=self.counted
        )

    def put(self, name: str) -> None:
        """Write a certificate into the file, under another inode, as careful writers do."""
        fresh = self.file.with_suffix(".fresh")
        shutil.copyfile(issued(name).both, fresh)
        fresh.replace(self.file)

    def _make(self, at_ms: int) -> MadeContext:
        assert self.may_be_read.wait(10), "everybody waits for the files"
        if self.failing_for:
            self.failing_for -= 1
            raise TlsUnusable("too many open files")
        terms = PLAIN_TERMS.__class__("", [str(self.file)], "", "", PLAIN_TERMS.versions, ())
        return listener_context(terms, ClientAuth.NONE, at_ms)

    @property
    def subject(self) -> str:
        """Whose certificate is in use."""
        return self.renewed.certificates[0].subject


async def test_a_file_that_stays_gives_the_same_context(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    before = watched.renewed.context

    # When
    await watched.renewed.look()

    # Then
    assert watched.renewed.context is before
    assert not watched.counted.counts


async def test_a_new_file_gives_a_new_context(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    before = watched.renewed.context
    watched.put("new")

    # When
    await watched.renewed.look()

    # Then
    assert watched.renewed.context is not before
    assert watched.subject == "CN=new"
    assert watched.counted.of("tls_renewals", "listener", "ok") == 1


async def test_a_swapped_symbolic_link_gives_a_new_context(tmp_path: Path) -> None:
    # Given: a mounted secret of Kubernetes, where the name leads through a link to a folder
    for folder, name in (("..1", "old"), ("..2", "new")):
        (tmp_path / folder).mkdir()
        shutil.copyfile(issued(name).both, tmp_path / folder / "tls.pem")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "tls.pem").symlink_to("..data/tls.pem")
    watched = Watched(tmp_path / "tls.pem")

    # When
    (tmp_path / "..next").symlink_to("..2")
    (tmp_path / "..next").replace(tmp_path / "..data")
    await watched.renewed.look()

    # Then
    assert watched.subject == "CN=new"


async def test_a_broken_file_leaves_the_old_context_and_is_counted_once(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    before = watched.renewed.context
    watched.file.write_text("broken")

    # When
    await watched.renewed.look()
    await watched.renewed.look()

    # Then
    assert watched.renewed.context is before
    assert watched.subject == "CN=old"
    assert watched.counted.of("tls_renewals", "listener", "failed") == 1


async def test_a_file_that_could_not_be_used_for_a_passing_reason_is_tried_again(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    watched.put("new")
    watched.failing_for = 1
    await watched.renewed.look()
    assert watched.subject == "CN=old"

    # When
    for _ in range(LOOKS_AFTER_FAILURE):
        await watched.renewed.look()

    # Then
    assert watched.subject == "CN=new"
    assert watched.counted.of("tls_renewals", "listener", "ok") == 1


async def test_a_file_that_stays_broken_is_said_and_counted_once(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    watched.file.write_text("broken")

    # When
    for _ in range(3 * LOOKS_AFTER_FAILURE):
        await watched.renewed.look()

    # Then
    assert watched.counted.of("tls_renewals", "listener", "failed") == 1


async def test_a_file_that_comes_back_is_taken(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    watched.file.unlink()
    await watched.renewed.look()

    # When
    watched.put("new")
    await watched.renewed.look()

    # Then
    assert watched.subject == "CN=new"


async def test_a_file_that_is_written_in_place_is_noticed_by_its_time(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    watched.file.write_bytes(issued("new").both.read_bytes())
    os.utime(watched.file, ns=(1, 1))

    # When
    await watched.renewed.look()

    # Then
    assert watched.subject == "CN=new"


async def test_nobody_waits_while_files_are_read(tmp_path: Path) -> None:
    # Given
    watched = Watched(tmp_path / "tls.pem")
    watched.put("new")
    watched.may_be_read.clear()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.renewed.look())
        for _ in range(3):
            await asyncio.sleep(0)
        while_it_is_read = watched.subject
        watched.may_be_read.set()

    # Then
    assert (while_it_is_read, watched.subject) == ("CN=old", "CN=new")
