"""What is believed of a topic when brokers say different things."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.second_opinions import (
    Opinion,
    contradictions,
    denied_topics,
    opinion_in,
    undecided_names,
)
from kproxy.share.identifiers import TopicId
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

OLD = TopicId(b"topic-id-old....")
NEW = TopicId(b"topic-id-new....")


class Known:
    """One topic, `orders`, and an id that is known to be gone."""

    def __init__(self, topic_id: TopicId | None, *, gone: TopicId | None = None) -> None:
        self._topic_id, self._gone = topic_id, gone

    def id_of(self, name: str) -> TopicId | None:
        return self._topic_id if name == "orders" else None

    def was_gone(self, topic_id: TopicId) -> bool:
        return topic_id == self._gone


def test_a_response_says_that_a_topic_is_there_or_that_it_is_not_or_nothing() -> None:
    response = MetadataResponse(
        topics=[
            MetadataResponseTopic(name="orders", topic_id=OLD),
            MetadataResponseTopic(name="fresh", topic_id=NEW, error_code=ErrorCode.LEADER_NOT_AVAILABLE),
            MetadataResponseTopic(name="unknown", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            MetadataResponseTopic(name="secret", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            MetadataResponseTopic(name=None, topic_id=NEW),
            MetadataResponseTopic(name="coming", error_code=ErrorCode.LEADER_NOT_AVAILABLE),
        ]
    )

    opinion = opinion_in(response, ["orders", "fresh", "unknown", "secret", "left out", "coming"])

    assert opinion == {"orders": OLD, "fresh": NEW, "unknown": None, "left out": None}


@pytest.mark.parametrize(
    ("known", "said", "is_contradiction"),
    [
        (Known(OLD), OLD, False),
        (Known(OLD), None, True),
        (Known(OLD), NEW, True),
        (Known(None), NEW, False),
        (Known(None), None, False),
        (Known(None, gone=OLD), OLD, True),
        (Known(None, gone=OLD), NEW, False),
    ],
)
def test_only_what_is_gone_another_or_back_again_needs_a_second_opinion(
    known: Known, said: TopicId | None, *, is_contradiction: bool
) -> None:
    assert bool(contradictions({"orders": said}, known, {})) is is_contradiction


def test_what_somebody_expects_counts_as_known() -> None:
    known = Known(None)

    assert contradictions({"orders": None}, known, {"orders": {NEW}}) == {"orders"}
    assert contradictions({"orders": NEW}, known, {"orders": {NEW}}) == frozenset()
    assert contradictions({"orders": NEW}, known, {"orders": {OLD, NEW}}) == {"orders"}


@pytest.mark.parametrize(
    ("known", "first", "others", "is_decided"),
    [
        pytest.param(Known(OLD), None, [], True, id="a lone broker is believed"),
        pytest.param(Known(OLD), None, [OLD], False, id="one against one: it stays"),
        pytest.param(Known(OLD), None, [None, OLD], True, id="one that still knows it is outvoted"),
        pytest.param(Known(OLD), None, [OLD, OLD], False, id="one that does not know it yet is outvoted"),
        pytest.param(Known(OLD), NEW, [None, OLD], True, id="two agree that the old one is gone"),
        pytest.param(Known(OLD), NEW, [OLD, OLD], False, id="one that knows an older one is outvoted"),
        pytest.param(Known(None, gone=OLD), OLD, [None, None], False, id="one brings nothing back"),
        pytest.param(Known(None, gone=OLD), OLD, [OLD, None], True, id="two do"),
        pytest.param(Known(NEW, gone=OLD), OLD, [NEW, NEW], False, id="nor in place of what is there"),
    ],
)
def test_the_majority_decides_and_without_one_all_stays_as_it_is(
    known: Known, first: TopicId | None, others: list[TopicId | None], *, is_decided: bool
) -> None:
    opinions: list[Opinion] = [{"orders": said} for said in (first, *others)]

    undecided = undecided_names({"orders"}, opinions, known, {})

    assert undecided == (frozenset() if is_decided else {"orders"})


def test_a_broker_that_does_not_say_has_no_voice() -> None:
    opinions: list[Opinion] = [{"orders": None}, {}]

    assert undecided_names({"orders"}, opinions, Known(OLD), {}) == frozenset()


@pytest.mark.parametrize(
    ("answer", "is_denied"),
    [
        pytest.param(MetadataResponseTopic(name="orders", topic_id=OLD), False, id="it is there"),
        pytest.param(MetadataResponseTopic(name="orders", topic_id=NEW), True, id="it is another one"),
        pytest.param(
            MetadataResponseTopic(name="orders", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            True,
            id="it is unknown",
        ),
        pytest.param(
            MetadataResponseTopic(name="orders", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            False,
            id="it may merely not be seen",
        ),
        pytest.param(MetadataResponseTopic(name="payments", topic_id=NEW), False, id="nothing is said of it"),
    ],
)
def test_a_topic_is_denied_when_its_name_is_unknown_or_belongs_to_another(
    answer: MetadataResponseTopic, *, is_denied: bool
) -> None:
    response = MetadataResponse(topics=[answer])

    denied = denied_topics(response, {"orders": [OLD]}, undecided=())

    assert denied == ({OLD} if is_denied else set())


def test_what_is_undecided_is_not_denied() -> None:
    response = MetadataResponse(topics=[MetadataResponseTopic(name="orders", topic_id=NEW)])

    assert denied_topics(response, {"orders": [OLD]}, undecided={"orders"}) == frozenset()
