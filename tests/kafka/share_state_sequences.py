"""Sequences of operations on share-partition state, asked of a stock share coordinator and of kproxy's alike."""

import random
from contextlib import ExitStack
from typing import Final, Self

from kproxy.share.identifiers import TopicId
from tests.kafka.share_state_differences import is_answered_alike, joined
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_state_client import (
    Answer,
    Batch,
    Delete,
    Initialize,
    Operation,
    Read,
    ShareStateClient,
    Summarize,
    Write,
)

STEPS: Final = 25
CANDIDATES: Final = 1_000
"""More than it ever takes to find an operation that is answered alike."""

SAME_EVERYWHERE: Final[tuple[Operation, ...]] = (
    Read(0),
    Write(0, 0, 0),
    Summarize(),
    Summarize(version=0),
    Delete(),
    Initialize(1, -1),
    Summarize(),
    Read(0),
    Initialize(1, 0),
    Read(0),
    Read(1),
    Summarize(),
    Write(1, 1, 0, 2, ((0, 4, 2, 1), (5, 9, 0, 1))),
    Read(1),
    Write(1, 1, 5, 0, ((3, 7, 0, 2), (12, 12, 4, 1), (8, 9, 2, 2))),
    Read(1),
    Write(1, 4, 6, 1, ((6, 6, 2, 3),)),
    Summarize(),
    Read(0),
    Write(1, 0, 6, 1),
    Write(0, 1, 6, 1),
    Write(3, 1, 6, 1),
    Summarize(version=0),
    Write(1, 1, 7, version=0),
    Summarize(),
    Write(1, 1, -1, -1, ((20, 29, 4, 1), (30, 31, 3, 5))),
    Read(7),
    Initialize(0, 0),
    Initialize(1, 40),
    Summarize(),
    Initialize(2, -1),
    Read(8),
    Delete(),
    Summarize(),
    Read(0),
    Delete(),
    Initialize(0, 7),
    Read(3),
    Summarize(),
)
"""One life of a share-partition, with refusals, that is answered alike step by step."""


class Pair:
    """A stock share coordinator and kproxy's, asked the same of topics of the same name, under a group of its own."""

    def __init__(self, stock: KafkaCluster, kproxy: KproxyProcess, topic: str) -> None:
        self.group = unique_name("group")
        with ExitStack() as opened:
            self.stock, self.kproxy = (
                opened.enter_context(ShareStateClient(address, group=self.group, topic=topic))
                for address in (stock.bootstrap_servers, kproxy.bootstrap_servers)
            )
            self._opened = opened.pop_all()

    def ask(
        self, operation: Operation, *, partition: int = 0, topic_id: TopicId | None = None
    ) -> tuple[Answer, Answer]:
        """What the stock broker answers, and what kproxy answers."""
        return (
            self.stock.ask(operation, partition=partition, topic_id=topic_id),
            self.kproxy.ask(operation, partition=partition, topic_id=topic_id),
        )

    def agree(self, operation: Operation, *, partition: int = 0, topic_id: TopicId | None = None) -> Answer:
        """What both answer, equal neighbours joined."""
        stock, kproxy = self.ask(operation, partition=partition, topic_id=topic_id)
        assert _joined(stock) == kproxy, operation
        return kproxy

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def play(pair: Pair, choice: random.Random, *, partition: int, only_new: bool = False) -> list[Answer]:
    """Ask both for `STEPS` operations that no documented difference touches; what they agreed on.

    With `only_new` nothing is initialized that has a state. A stock broker goes on counting the updates since its
    last snapshot then, kproxy begins anew, and so their next snapshots stand at different places in the log.
    """
    answers: list[Answer] = []
    highest_leader_epoch = 0
    while len(answers) < STEPS:
        state = pair.agree(Summarize(), partition=partition)
        assert state.leader_epoch is not None
        highest_leader_epoch = max(highest_leader_epoch, state.leader_epoch)
        candidates = (_operation(choice, state, only_new=only_new) for _ in range(CANDIDATES))
        operation = next(
            each
            for each in candidates
            if is_answered_alike(each, state, highest_leader_epoch=highest_leader_epoch)
        )
        answers.append(pair.agree(operation, partition=partition))
        if operation == Delete():
            highest_leader_epoch = 0
    pair.agree(Read(2**31 - 2), partition=partition)
    return answers


def _operation(choice: random.Random, state: Answer, *, only_new: bool) -> Operation:
    """An operation near `state`: most of them are taken, some are fenced or refused."""
    assert state.state_epoch is not None
    assert state.leader_epoch is not None
    assert state.start_offset is not None
    state_epoch = max(0, state.state_epoch + choice.choice((-1, 0, 0, 0, 0, 0, 1)))
    leader_epoch = max(0, state.leader_epoch + choice.choice((-1, 0, 0, 0, 0, 0, 1)))
    start_offset = choice.choice((-1, state.start_offset, state.start_offset + choice.randrange(6)))
    is_new = state.state_epoch == 0 and state.start_offset == -1
    initialize = 50 if is_new else 0 if only_new else 3
    kind = choice.choices(("initialize", "delete", "read", "write"), (initialize, 1, 5, 16))[0]
    if kind == "initialize":
        return Initialize(state_epoch, start_offset)
    if kind == "delete":
        return Delete()
    if kind == "read":
        return Read(leader_epoch)
    count = (state.complete_count or 0) + choice.choice((-1, 0, 0, 0, 1, 2))
    batches = tuple(_batch(choice, state.start_offset) for _ in range(choice.randrange(5)))
    return Write(
        state_epoch, leader_epoch, start_offset, max(-1, count), batches, choice.choice((0, 1, 1, 1))
    )


def _batch(choice: random.Random, start_offset: int) -> Batch:
    first_offset = max(0, start_offset + choice.randrange(-3, 20))
    return first_offset, first_offset + choice.randrange(8), choice.choice((0, 2, 4)), choice.randrange(1, 4)


def _joined(answer: Answer) -> Answer:
    if answer.batches is None:
        return answer
    fields = {name: getattr(answer, name) for name in Answer.__slots__}
    return Answer(**{**fields, "batches": joined(answer.batches)})
