"""How much connections may hold, from files as kernels write them."""

from pathlib import Path

import pytest

from kproxy.application.memory_share import memory_share

MIB = 1024 * 1024
NONE_IN_V1 = 9223372036854771712
"""What version 1 says where there is no limit."""


def write(root: Path, files: dict[str, object]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="ascii")


def test_what_is_configured_holds_whatever_memory_there_is(tmp_path: Path) -> None:
    write(tmp_path, {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": 64 * MIB})

    share = memory_share(512 * MIB, tmp_path)

    assert (share.budget_bytes, share.source) == (512 * MIB, "kproxy.max.buffered.bytes")


@pytest.mark.parametrize(
    ("files", "budget_mib"),
    [
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": 512 * MIB}, 128),
        (
            {
                "proc/self/cgroup": "0::/pods/kproxy",
                "sys/fs/cgroup/pods/kproxy/memory.max": "max",
                "sys/fs/cgroup/pods/memory.max": 256 * MIB,
            },
            64,
        ),
        (
            {
                "proc/self/cgroup": "12:cpu:/x\n9:hugetlb,memory:/docker/abc",
                "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": 100 * MIB,
                "sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_IN_V1,
            },
            25,
        ),
        (
            {
                "proc/self/cgroup": "9:memory:/of/the/host\n0::/",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": 200 * MIB,
            },
            50,
        ),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": MIB}, 8),
    ],
)
def test_the_lowest_limit_of_the_cgroup_and_those_above_it_counts(
    tmp_path: Path, files: dict[str, object], budget_mib: int
) -> None:
    write(tmp_path, files)

    assert memory_share(None, tmp_path).budget_bytes == budget_mib * MIB


def test_where_the_limit_comes_from_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": 100 * MIB})

    share = memory_share(None, tmp_path)

    assert share.source == f"auto: {tmp_path}/sys/fs/cgroup/memory.max is {100 * MIB} bytes"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "max"},
        {"proc/self/cgroup": "9:memory:/", "sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_IN_V1},
        {"proc/self/cgroup": "nonsense", "sys/fs/cgroup/memory.max": "nonsense"},
    ],
)
def test_without_a_limit_the_memory_of_the_machine_counts_up_to_a_bound(
    tmp_path: Path, files: dict[str, object]
) -> None:
    write(tmp_path, files)

    share = memory_share(None, tmp_path)

    assert share.source.startswith("auto: the machine's memory is ")
    assert 8 * MIB <= share.budget_bytes <= 256 * MIB
