"""Cases from 101 on: disagreements that were found beside the list."""

from tests.conformance import preparation
from tests.conformance.case import Lack, case
from tests.conformance.member import acquired
from tests.conformance.scenario import Play


@case(101, lack=Lack.BELOW_START)
def a_log_cut_within_a_batch_behind_records_that_are_held_gives_the_whole_batch(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    assert acquired(member.fetch()) == [(0, 4, 1)]
    play.produce_batches(topic, 5)
    preparation.delete_records(play.helper, topic, before=7)
    assert acquired(member.fetch_records()) == [(5, 9, 1)]
