"""The disk of a broker that leads the state log is full: the group goes on from another replica, and loses nothing."""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.group_at_work import group_at_work
from tests.real_kafka.leadership import move_replicas

REPLICATED: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
FULL: Final = 2
"""The broker whose disk is small."""
DISK_MIB: Final = 48
STEP_BYTES: Final = 64 * 1024

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system, which only root may")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put what is in `folder` on a file system of `DISK_MIB`, which is gone after the block."""
    kept = folder.with_name(f"{folder.name}-before")
    folder.rename(kept)
    folder.mkdir()
    size = f"size={DISK_MIB}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "kproxy-test", str(folder)], check=True)
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all that is left of the disk; the file that does."""
    filler = folder.joinpath("filler")
    with filler.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(STEP_BYTES))
        except OSError as full:
            if full.errno != errno.ENOSPC:
                raise
    return filler


@needs_root
@pytest.mark.soak
def test_the_full_disk_of_a_leader_of_the_state_log_undoes_nothing_and_another_replica_takes_over(
    tmp_path: Path,
) -> None:
    # Given
    data = tmp_path / "data"
    disk = data / f"broker-{FULL}-data"
    with KafkaCluster(brokers=3, data_folder=data) as cluster:
        cluster.stop_broker(FULL)
        with small_disk(disk):
            cluster.start_broker(FULL)
            with group_at_work(cluster, tmp_path, settings=REPLICATED) as work:
                move_replicas(cluster, work.state_topics, [FULL, 1, 3])

                # When
                filler = fill(disk)

                # Then
                work.wait_until(lambda: bool(cluster.dead_nodes))
                assert cluster.dead_nodes == [f"broker-{FULL}"]
                pause = work.wait_for_answer(since=time.monotonic())
                work.wait_until_each_partition_goes_on(since=time.monotonic())
                print(
                    f"accepted again {pause:.2f} s after the broker had stopped: {work.acceptances.errors()}"
                )
                filler.unlink()
                cluster.kill_broker(FULL)
                cluster.start_broker(FULL)
                work.wait_until_each_partition_goes_on(since=time.monotonic())
                work.acceptances.take_what_landed()
                work.acceptances.wait_until_calm()
                work.acceptances.require_in_order(work.acceptances.read_log())
                assert work.kproxy.metrics().total("kproxy_statelog_truncations_total") == 0
            cluster.stop_broker(FULL)
