"""How the tests are shared out where several workers run them (pytest-xdist with `--dist loadfile`).

A file stays whole, so that what its tests share is started once, and all that needs Spark stays on one worker: each
worker has a Spark and clusters of its own. Long files are begun first, so that no worker waits long for the last one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

SPARK: Final = "spark"
"""The share of all files whose tests have the fixture of this name."""
FILES_WITH_SPARK: Final = (
    "tests/spark/",
    "tests/kafka/test_readme_snippets.py",
    "tests/kafka/test_replay.py",
)

LONGEST_FIRST: Final = (
    SPARK,
    "tests/misfortunes/test_misfortunes.py",
    "tests/compatibility/test_matrix.py",
    "tests/faults/test_faults.py",
    "tests/kafka/test_share_accounting.py",
    "tests/kafka/test_share_semantics.py",
    "tests/conformance/test_conformance.py",
    "tests/kafka/test_fleet.py",
    "tests/kafka/test_clusters.py",
    "tests/kafka/test_broker_restarts.py",
    "tests/kafka/test_topic_changes.py",
    "tests/kafka/test_availability.py",
    "tests/kafka/test_broken_brokers.py",
    "tests/kafka/test_partition_reader.py",
    "tests/kafka/test_share_subscriptions.py",
    "tests/unit/handlers/live/test_pauses.py",
    "tests/models/test_administered_groups.py",
    "tests/models/test_share_partition_model.py",
    "tests/models/test_slot_ownership_model.py",
    "tests/demo/test_view.py",
    "tests/models/test_fleet.py",
    "tests/properties/test_codecs.py",
)
"""Shares of more than about half a minute, and among those without Kafka of more than ten seconds; the order of most
others makes no difference."""
LAST: Final = ("tests/kafka/test_addresses.py",)
"""Begins a session's cluster of three brokers, which takes a twelfth of a core from whatever comes later."""


class SharesOfFiles(LoadScopeScheduling):
    """Gives workers one share after the other, in the order of collection."""

    def remove_node(self, node: Any) -> str | None:
        """Take back what a worker leaves that died; the name of the test that it died in, None if in none.

        That test has failed: xdist's own scheduler would begin it again and again, as often as workers are replaced.
        """
        left = _unfinished(self.assigned_work[node])
        died_in = next(
            (test for tests in left.values() for test, is_over in tests.items() if not is_over), None
        )
        if died_in is not None:
            left[share_of(died_in)][died_in] = True
        # A share without tests would be given out, too, and nothing tells when a worker is through with it.
        self.assigned_work[node] = _unfinished(left)
        super().remove_node(node)
        return died_in

    def _reschedule(self, node: Any) -> None:
        """Give a worker its next share, once it has told what it collected.

        xdist's own scheduler fails with a KeyError where two workers are replaced and one of them is through first.
        """
        if node in self.registered_collections:
            super()._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharesOfFiles | None:
    """Be what `--dist loadfile` means here."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return SharesOfFiles(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put shares in order, the same on every worker; a run in one process keeps its own."""
    _require_spark_in_its_share(items)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _rank(share_of(item.nodeid)))


def _unfinished(shares: Mapping[str, dict[str, bool]]) -> dict[str, dict[str, bool]]:
    """Those that hold a test that is not over."""
    return {share: tests for share, tests in shares.items() if not all(tests.values())}


def share_of(nodeid: str) -> str:
    """The name of what has to stay on one worker: a test's file, or `spark`."""
    file = nodeid.partition("::")[0]
    return SPARK if file.startswith(FILES_WITH_SPARK) else file


def _rank(share: str) -> int:
    if share in LAST:
        return len(LONGEST_FIRST) + 1
    return LONGEST_FIRST.index(share) if share in LONGEST_FIRST else len(LONGEST_FIRST)


def _require_spark_in_its_share(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if SPARK in getattr(item, "fixturenames", ()) and share_of(item.nodeid) != SPARK:
            file = item.nodeid.partition("::")[0]
            raise pytest.UsageError(f"{file} needs Spark: name it in FILES_WITH_SPARK of tests/workers.py")
