"""Every job, by the name that `kproxy replay` knows it by."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from kproxy.jobs.job import Job


@dataclass(frozen=True, slots=True)
class LazyJob:
    """A job that is imported when it is called: the help text needs its purpose only."""

    module: str
    purpose: str

    def load(self) -> Job:
        """Import the job."""
        job = import_module(self.module).JOB
        assert isinstance(job, Job)
        return job


JOBS: Final[Mapping[str, LazyJob]] = {
    "state-at": LazyJob(
        "kproxy.jobs.state_at", "The state of every share-partition at a time or log offset."
    ),
    "verify": LazyJob(
        "kproxy.jobs.verify.verify", "Compare the log with a running kproxy, and check its invariants."
    ),
    "export": LazyJob("kproxy.jobs.export.export", "Write the history as Parquet, one row per state batch."),
    "snapshot": LazyJob("kproxy.jobs.snapshot", "Write a compact log: one snapshot per share-partition."),
    "throughput": LazyJob(
        "kproxy.jobs.analyses.throughput", "Acknowledgements by type, group, member and time; fairness."
    ),
    "redeliveries": LazyJob(
        "kproxy.jobs.analyses.redeliveries", "Where and when records were delivered again: a heat map."
    ),
    "lag-history": LazyJob(
        "kproxy.jobs.analyses.lag_history", "How far behind each share-partition was, over time."
    ),
    "stuck": LazyJob(
        "kproxy.jobs.analyses.stuck", "Records that block the start offset or near the delivery limit."
    ),
    "audit": LazyJob("kproxy.jobs.analyses.audit", "All that happened to a record, or that a member did."),
}
"""The jobs, in the order of the help text."""
