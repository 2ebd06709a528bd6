"""Cases from 111 on: disagreements that scripts by chance found."""

from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance import admin_requests
from tests.conformance.case import case
from tests.conformance.member import ACCEPT, RENEW, ack, acknowledge_errors, acquired
from tests.conformance.scenario import Play

SHORT_LOCK: Final = {"share.record.lock.duration.ms": "1000"}


@case(111)
def what_was_renewed_before_a_refusal_stays_renewed(play: Play) -> None:
    """The new lock is shorter than the old one, and ends first."""
    topic = play.topic()
    group = play.group(topic)
    one, other = group.member(), group.member()
    play.produce_batches(topic, 6)
    assert acquired(one.fetch()) == [(0, 5, 1)]
    assert acknowledge_errors(one.acknowledge(ack(5, 5, ACCEPT))) == [ErrorCode.NONE]
    group.configure(SHORT_LOCK)
    refused = one.acknowledge(ack(0, 0, ACCEPT), ack(4, 5, RENEW), is_renew=True)
    assert acknowledge_errors(refused) == [ErrorCode.INVALID_RECORD_STATE]
    assert acquired(other.fetch_records()) == [(4, 4, 2)]


@case(112)
def a_group_that_altering_offsets_created_has_epochs(play: Play) -> None:
    group, topic = play.new_group_id(), play.topic()
    play.group(topic)  # with a member that the topic was assigned to: the coordinator has heard of it
    assert admin_requests.alter_offsets(play, group, topic, 0).error_code == ErrorCode.NONE
    [described] = admin_requests.describe_group(play, group).groups
    assert (described.group_epoch, described.assignment_epoch) == (1, 1)


@case(113)
def a_start_offset_that_nobody_used_is_chosen_again(play: Play) -> None:
    topic = play.topic()
    play.produce_batches(topic, 3)
    group = play.group(topic, configs={"share.auto.offset.reset": "latest"})
    group.founder_leaves()
    group.configure({"share.auto.offset.reset": "earliest"})
    group.founder_returns()
    assert acquired(group.member().fetch_records()) == [(0, 2, 1)]
