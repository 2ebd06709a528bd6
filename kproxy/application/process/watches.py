"""What looks after the process beside everything that it serves."""

from kproxy.application.full_collections import FullCollections
from kproxy.application.memory_share import memory_limit
from kproxy.application.process.loop_lag import LoopLag
from kproxy.net.relay.limits.file_descriptors import OpenFileWatch
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry.metrics import Metrics


def keep_watch(tasks: TaskKeeper, metrics: Metrics) -> None:
    """Begin to count shortages of open files, to collect garbage when it is time, and to measure the event loop."""
    tasks.keep_up(OpenFileWatch(metrics).run, name="open files")
    tasks.keep_up(FullCollections(memory_limit()[0]).run, name="full collections")
    tasks.keep_up(LoopLag(metrics).run, name="loop lag")
