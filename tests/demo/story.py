"""The demo from its first step to its closing table."""

import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from typing import Final

from confluent_kafka import KafkaException

from tests.demo.book import Book
from tests.demo.closing import show_checks, show_closing
from tests.demo.crew import Crew
from tests.demo.keeping import keep_running
from tests.demo.killing import Killing, NoKilling
from tests.demo.kproxy_fleet import KproxyFleet
from tests.demo.kproxy_process import KproxyProcess
from tests.demo.ledger import BY_MOVES, BY_THE_KILL, Check, CutOffs, RecordId, audit
from tests.demo.outage import OutageKind, audit_outages, audit_state_log
from tests.demo.plain_clients import NoAnswer, count_with_a_plain_consumer
from tests.demo.plan import (
    GROUP,
    LOCK_SECONDS,
    MEMBERS,
    OVERSLEEPER,
    PRODUCER,
    TOPIC,
    Plan,
)
from tests.demo.replaying import ask, audit_answers, questions
from tests.demo.stage import LOG_FOLDER, Stage, set_up
from tests.demo.state_log import dump, finished_records
from tests.demo.updating import KillAndUpdate
from tests.demo.view import View
from tests.real_kafka.paths import PROJECT_ROOT

REPLAY_FOLDER: Final = LOG_FOLDER / "replay"
REFRESH_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 40.0
"""Longer than any lock: when nothing happens for so long, nothing will."""
MOST_BOOTSTRAPS: Final = 3
"""So many kproxies a member is told of, as people do: its own, and others for when that one is gone."""
QUIET_SECONDS: Final = 2.0
"""What can be delivered is by then: records that were cut off and did not come back are finished, or lost."""


def perform(plan: Plan, view: View) -> bool:
    """Tell the whole story; true if all sums add up. Nothing runs any more afterwards.

    Raises `DemoFailed` and what the Kafka harness raises.
    """
    view.say(_title(plan), style="bold")
    with ExitStack() as everything:
        stage = set_up(plan, view, everything)
        book, problems = _play(plan, view, stage)
        adds_up = _close(plan, view, stage, book, problems)
        if not adds_up:
            stage.cluster.keep_logs()
        if plan.keeps_running:
            keep_running(view, stage)
        with view.step("stopping kproxy and Kafka") as step:
            everything.close()
            step.text = "everything is stopped"
    return adds_up


def _title(plan: Plan) -> str:
    if plan.is_native:
        return "\nA share group of three on Apache Kafka's own share groups, without kproxy\n"
    title = f"{plan.proxies} kproxies" if plan.is_fleet else "kproxy"
    return f"\n{title}: a share group of three on an Apache Kafka that has no share groups\n"


# ---- playing


def _play(plan: Plan, view: View, stage: Stage) -> tuple[Book, Sequence[Check]]:
    book = Book(MEMBERS)
    *most, last = MEMBERS
    members = f"{', '.join(most)} and {last}"
    view.say(f"\n  {members} share {plan.record_count:,} records; {OVERSLEEPER} will sleep past a lock\n")
    began = time.monotonic()
    with Crew(LOG_FOLDER) as crew, view.watching():
        for name in MEMBERS:
            crew.start(name, "tests.demo.member", _member_arguments(name, plan, stage))
        if stage.several_kproxies is not None:
            stage.several_kproxies.watch(crew.process_ids)
        crew.start(PRODUCER, "tests.demo.producer", _producer_arguments(plan, stage))
        problems = _watch(plan, view, stage, crew, book)
    if not problems:
        view.done(f"{book.settled_count:,} records accepted or rejected", time.monotonic() - began)
    return book, problems


def _watch(plan: Plan, view: View, stage: Stage, crew: Crew, book: Book) -> Sequence[Check]:
    is_finishing = False
    killing = _killing(plan, stage)
    last_news_at = time.monotonic()
    while crew.is_at_work:
        for who, event in crew.news(REFRESH_SECONDS):
            last_news_at = time.monotonic()
            book.note(who, event, last_news_at)
        killing.tend(book, time.monotonic())
        if book.outage is not None and book.outage.kind is OutageKind.RESTART:
            crew.tell_to_go_on(PRODUCER)
        view.show(book, plan, None if stage.several_kproxies is None else stage.several_kproxies.status)
        stage.check_it_stands()
        if not is_finishing and not killing.is_at_work and _is_all_done(book, time.monotonic()):
            crew.ask_to_finish()
            is_finishing = True
        if time.monotonic() - last_news_at > PATIENCE_SECONDS:
            return [Check(f"nothing happened any more for {PATIENCE_SECONDS:.0f} s", holds=False)]
    return []


def _killing(plan: Plan, stage: Stage) -> Killing | KillAndUpdate | NoKilling:
    if stage.fleet is None:
        return NoKilling()
    if stage.several_kproxies is not None:
        return KillAndUpdate(stage.several_kproxies, plan.seconds_per_record)
    return Killing(stage.fleet.kproxies[0], plan.seconds_per_record)


def _is_all_done(book: Book, now: float) -> bool:
    if PRODUCER not in book.finished:
        return False
    unsettled = len(book.produced) - book.settled_count
    is_quiet = now - book.last_news_at > QUIET_SECONDS
    return unsettled <= 0 or (is_quiet and unsettled == book.without_answer)


def _member_arguments(name: str, plan: Plan, stage: Stage) -> list[str]:
    arguments = {
        "--bootstrap-server": stage.bootstrap_servers,
        "--group": GROUP,
        "--topic": TOPIC,
        "--name": name,
        "--seconds-per-record": plan.seconds_per_record,
        "--lock-seconds": LOCK_SECONDS,
    }
    if name == OVERSLEEPER:
        arguments["--oversleeps-after"] = plan.oversleeps_after
        arguments["--oversleeps-with"] = plan.oversleeps_with
    if stage.several_kproxies is not None:
        home, *others = _kproxies_of(name, stage.several_kproxies)
        arguments["--bootstrap-server"] = ",".join(kproxy.bootstrap_servers for kproxy in (home, *others))
        arguments["--home"] = f"{home.bootstrap_servers},{home.broker_address}"
    return [str(part) for pair in arguments.items() for part in pair]


def _kproxies_of(member: str, fleet: KproxyFleet) -> Sequence[KproxyProcess]:
    """Return those that a member has as bootstrap servers, the one first that it is to be behind in the beginning.

    Of the first member that is the one that serves the group, of the next member the next.
    """
    kproxies = fleet.kproxies
    first = kproxies.index(fleet.serving_the_group()) + MEMBERS.index(member)
    return [kproxies[(first + place) % len(kproxies)] for place in range(min(MOST_BOOTSTRAPS, len(kproxies)))]


def _producer_arguments(plan: Plan, stage: Stage) -> list[str]:
    return [
        *("--bootstrap-server", stage.bootstrap_servers, "--topic", TOPIC),
        *("--records", str(plan.record_count), "--seconds", str(plan.producing_seconds)),
        *("--held-back", str(plan.held_back)),
    ]


# ---- closing


def _close(plan: Plan, view: View, stage: Stage, book: Book, problems: Sequence[Check]) -> bool:
    cut_offs = BY_MOVES if plan.is_fleet else BY_THE_KILL
    finished = _finished_records(view, stage, book)
    checks = [
        *_checks(plan, stage, book, finished, cut_offs),
        _plain_consumer_reads_as_much(view, stage, book),
        *problems,
    ]
    show_closing(view.console, book, checks, cut_offs)
    checks += _replay(view, stage, book, finished, cut_offs)
    return _conclude(view, checks)


def _finished_records(view: View, stage: Stage, book: Book) -> AbstractSet[RecordId]:
    """Return the records that are finished by the state log; none if Kafka's own share groups keep it."""
    if stage.fleet is None:
        return frozenset()
    with view.step("kproxy's state log is read from Kafka itself"):
        return finished_records(dump(stage.cluster.bootstrap_servers), GROUP) & book.produced.keys()


def _checks(
    plan: Plan, stage: Stage, book: Book, finished: AbstractSet[RecordId], cut_offs: CutOffs
) -> list[Check]:
    checks = audit(book.produced, book.deliveries, MEMBERS, finished, cut_offs)
    if stage.fleet is not None:
        kinds = (OutageKind.KILL, OutageKind.RESTART) if plan.is_fleet else (OutageKind.KILL,)
        checks += audit_outages(book.outages, book.deliveries, kinds)
        checks.append(audit_state_log(book.produced.keys(), finished))
    return checks


def _plain_consumer_reads_as_much(view: View, stage: Stage, book: Book) -> Check:
    try:
        with view.step("a plain consumer reads the same topic through the same port"):
            count = count_with_a_plain_consumer(stage.bootstrap_servers, TOPIC)
    except (NoAnswer, KafkaException) as error:
        return Check("a plain consumer reads the same topic", holds=False, evidence=str(error))
    claim = f"a plain consumer read {count:,} records from the same port"
    return Check(claim, holds=count == len(book.produced))


def _replay(
    view: View, stage: Stage, book: Book, finished: AbstractSet[RecordId], cut_offs: CutOffs
) -> list[Check]:
    """Have Spark replay the state log; nothing to check if Kafka's own share groups keep it."""
    if stage.fleet is None or stage.analyst is None:
        return []
    shown_folder = REPLAY_FOLDER.relative_to(PROJECT_ROOT)
    view.say(f"\n  Spark replays the state log (whole tables and pictures: {shown_folder}/)\n")
    asked = questions(
        stage.cluster.bootstrap_servers, stage.fleet.serving_the_group().admin_url, shown_folder
    )
    answers = ask(view, stage.analyst, asked, REPLAY_FOLDER)
    stage.analyst.stop()
    checks = audit_answers(answers, book, finished, cut_offs)
    view.say()
    show_checks(view.console, checks)
    return checks


def _conclude(view: View, checks: Sequence[Check]) -> bool:
    after = f"after {view.elapsed_seconds:.1f} s in all"
    if all(check.holds for check in checks):
        view.say(f"\n  The sums add up, {after}.", style="bold green")
        return True
    view.say(f"\n  The sums do not add up, {after}.", style="bold red")
    return False
