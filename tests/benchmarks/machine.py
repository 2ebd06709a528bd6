"""What a result depends on: the machine, its software, and what else it was doing."""

import os
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Final

import confluent_kafka

from kproxy import __version__
from tests.benchmarks.haproxy_process import haproxy_program
from tests.real_kafka.versions import REFERENCE

UNKNOWN: Final = "unknown"


def describe_machine(*, with_haproxy: bool = True) -> dict[str, str]:
    """The machine and the versions of everything that takes part, for people to read."""
    library_version, _ = confluent_kafka.libversion()
    described = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "kproxy": __version__,
        "kafka": REFERENCE.version,
        "librdkafka": str(library_version),
    }
    return {**described, "haproxy": _haproxy_version()} if with_haproxy else described


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine() or UNKNOWN


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _haproxy_version() -> str:
    said = subprocess.run([haproxy_program(), "-v"], capture_output=True, text=True, check=True, timeout=10)
    found = re.search(r"version (\S+)", said.stdout)
    return found[1] if found else UNKNOWN
