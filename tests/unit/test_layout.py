"""The shape of the tree: small files, speaking names, a test file beside every source file, nothing of one machine."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
LONGEST_FILE: Final = 400
"""Hand-written lines that one file may have (style guide, rule 4)."""

MOST_MODULES: Final = 24
"""Modules that a folder may have at one level."""

FLAT_ON_PURPOSE: Final = frozenset({"messages", "cli"})
"""The generated messages, and the command line: one module for each command."""

JUNK_DRAWERS: Final = frozenset(
    {"utils", "util", "helpers", "helper", "common", "base", "core", "manager", "misc", "types"}
)

TESTED_ELSEWHERE: Final[dict[str, str]] = {
    "kproxy/admin/live_share_partitions.py": "a protocol",
    "kproxy/admin/peer_views.py": "ports; tests/unit/admin/fleet/test_fleet_answers.py",
    "kproxy/application/admin_parts.py": "data only",
    "kproxy/application/admin_port.py": "tests/unit/application/test_late_admin.py, and every test of a running kproxy",
    "kproxy/application/share_service.py": "wiring; every test of a running kproxy",
    "kproxy/application/client_ports.py": "tests/unit/application/test_ending_with_tls.py, tests/kafka/test_tls.py",
    "kproxy/application/tls_vitals.py": "tests/kafka/test_tls.py",
    "kproxy/net/tls/handing_on.py": "tests/unit/net/tls/test_handshake_turns.py, "
    "tests/unit/net/tls/test_floods_of_messages.py",
    "kproxy/net/tls/__init__.py": "tests/unit/net/tls/test_dialing_with_tls.py",
    "kproxy/application/vitals.py": "tests/kafka: every test of a running kproxy asks it",
    "kproxy/net/relay/memory/holder.py": "data only; tests/unit/net/relay/memory/test_stalled_holders.py",
    "kproxy/clients/failures.py": "classes without behaviour; tests/unit/cli/test_exit_codes.py has their exit codes",
    "kproxy/fleet/events.py": "data only",
    "kproxy/fleet/group_protocol.py": "data only",
    "kproxy/handlers/backlog.py": "a port; tests/unit/net/reading/test_backlog_survey.py holds implementations to it",
    "kproxy/handlers/request_context.py": "data only; its rights: tests/unit/net/relay/test_own_questions.py",
    "kproxy/handlers/fleet/ports.py": "ports; tests/unit/handlers/fleet/test_fleet_apis.py",
    "kproxy/handlers/live/share_services.py": "data only",
    "kproxy/handlers/share_state_store.py": "a port; tests/unit/net/state_log/test_durable_state_log.py",
    "kproxy/handlers/offset_store.py": "a port; tests/unit/net/state_log/test_durable_state_log.py",
    "kproxy/interception/gathering.py": "tests/unit/interception/test_translations.py",
    "kproxy/interception/known_versions.py": "a table; tests/unit/interception/test_routing.py reads it",
    "kproxy/interception/response_slots.py": "data only",
    "kproxy/jobs/analyses/audit.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/export/export.py": "tests/spark/test_growing_logs.py, tests/spark/test_jobs.py",
    "kproxy/jobs/export/exported_files.py": "tests/spark/test_growing_logs.py, tests/spark/test_jobs.py",
    "kproxy/jobs/export/exporter.py": "tests/spark/test_growing_logs.py",
    "kproxy/jobs/history/changes.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/sources/early_log.py": "tests/spark/test_early_log.py",
    "kproxy/jobs/analyses/lag_history.py": "tests/spark/test_analyses.py",
    "kproxy/cli/operator_requests.py": "tests/unit/cli/test_in_flight_actions.py",
    "kproxy/cli/session_end.py": "tests/unit/cli/test_in_flight_actions.py",
    "kproxy/cli/log_reading.py": "tests/unit/cli/test_log.py, tests/unit/cli/test_log_questions.py",
    "kproxy/cli/log_replay.py": "tests/unit/cli/test_log_questions.py",
    "kproxy/clients/history/changes.py": "tests/unit/clients/history/test_audit.py, "
    "tests/unit/clients/history/test_stuck.py: held to plain facts",
    "kproxy/clients/history/selection.py": "tests/unit/clients/history/test_audit.py",
    "kproxy/clients/history/silver_rows.py": "tests/unit/jobs/history/test_silver.py",
    "kproxy/jobs/sources/topic_names.py": "tests/spark/test_readers.py",
    "kproxy/jobs/sources/local_rows.py": "tests/spark/test_analyses.py, tests/spark/test_early_log.py",
    "kproxy/jobs/sources/log_rows.py": "tests/spark/test_readers.py",
    "kproxy/jobs/pictures/lag_history.py": "tests/spark/test_pictures.py",
    "kproxy/jobs/pictures/figure_style.py": "tests/spark/test_pictures.py",
    "kproxy/jobs/pictures/redeliveries.py": "tests/spark/test_pictures.py",
    "kproxy/jobs/pictures/throughput.py": "tests/spark/test_pictures.py",
    "kproxy/jobs/analyses/redeliveries.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/history/selection.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/analyses/stuck.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/analyses/throughput.py": "tests/spark/test_analyses.py",
    "kproxy/jobs/sources/dump_log.py": "tests/spark/test_readers.py",
    "kproxy/jobs/sources/kafka_readers.py": "tests/kafka/test_replay.py, tests/spark/test_spark_4_0.py",
    "kproxy/jobs/history/silver_files.py": "tests/spark/test_readers.py",
    "kproxy/jobs/sources/spark_tasks.py": "tests/spark/test_spark_tasks.py",
    "kproxy/jobs/analyses/waiting.py": "tests/spark/test_waiting.py",
    "kproxy/jobs/verify/write_rules.py": "tests/unit/jobs/verify/test_verify_rules.py",
    "kproxy/settings/choices.py": "words only",
    "kproxy/net/counting.py": "a protocol",
    "kproxy/application/process/watches.py": "wiring; every test of a running kproxy",
    "kproxy/telemetry/share_group_metrics.py": "a table; tests/unit/telemetry/test_metric_table.py",
    "kproxy/net/peers/peer_limits.py": "data only; met in tests/unit/net/peers/test_lost_peers.py, "
    "tests/unit/net/peers/test_left_at_peers.py and tests/unit/net/peers/test_decoded_fetches.py",
}
"""Source files without a test file of their own, each with the reason. Generated files need none."""

MACHINE_PATHS: Final = re.compile("(?<![\\w.~-])/(" + "work|root|home/[a-z]+" + ")/")
REGISTRIES: Final = re.compile(
    r"\b(?:pypi|(?:files|index|proxy|registry|repo\d*)\.[a-z0-9-]+)(?:\.[a-z0-9-]+)*\.(?:com|io|org)\b"
)
"""Where packages come from is the business of each machine's own configuration."""

FROM_AN_INDEX: Final = re.compile(
    r"\bkproxy\[|\b(?:pip3?|pipx|uv|uvx|poetry)\b[^`|&;]*?\s(?:install|add|run|download)\b"
    r"[^`|&;]*?[\s'\"=]kproxy(?:[-_]share[-_]groups)?(?=$|[\s'\"`,.;:()\[<>=~!])"
)
"""kproxy as something that a package index has: there, that name is an unrelated project's, and ours is not there yet.

A wheel or a checkout is given as a path: 'dist/kproxy_share_groups-….whl', '.[spark]'.
"""


def is_generated(path: Path) -> bool:
    return path.is_relative_to(ROOT / "kproxy" / "wire" / "messages")


def python_files(*folders: str) -> list[Path]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not is_generated(path))


def source_files() -> list[Path]:
    return [path for path in python_files("kproxy") if path.name not in {"__init__.py", "__main__.py"}]


def unit_test_of(source: Path) -> Path:
    package = source.parent.relative_to(ROOT / "kproxy")
    return ROOT / "tests" / "unit" / package / f"test_{source.name}"


def tracked_texts() -> Iterator[tuple[str, str]]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in tracked_texts()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_every_source_file_has_a_test_file_of_its_own_or_a_reason() -> None:
    # When
    missing = [
        f"{source.relative_to(ROOT)} -> {unit_test_of(source).relative_to(ROOT)}"
        for source in source_files()
        if str(source.relative_to(ROOT)) not in TESTED_ELSEWHERE and not unit_test_of(source).exists()
    ]

    # Then
    advice = "write these test files, or name the source in TESTED_ELSEWHERE with the reason:\n  "
    assert not missing, advice + "\n  ".join(missing)


def test_every_reason_belongs_to_a_source_file_that_has_no_test_file() -> None:
    # When
    idle = [
        name for name in TESTED_ELSEWHERE if not (ROOT / name).exists() or unit_test_of(ROOT / name).exists()
    ]

    # Then
    assert not idle, f"take these out of TESTED_ELSEWHERE: {idle}"


def test_every_unit_test_file_mirrors_a_source_file_or_stands_in_a_reason() -> None:
    # Given
    of_sources = {unit_test_of(source) for source in source_files()}
    reasons = list(TESTED_ELSEWHERE.values())

    # When
    stray = [
        path
        for folder in (ROOT / "tests" / "unit").iterdir()
        if folder.is_dir()
        for path in folder.rglob("test_*.py")
        if path not in of_sources and not any(str(path.relative_to(ROOT)) in reason for reason in reasons)
    ]

    # Then
    advice = "tests/unit mirrors kproxy; these mirror nothing and no reason in TESTED_ELSEWHERE names them"
    assert not stray, f"{advice}: {relative(stray)}"


def test_no_hand_written_file_is_longer_than_400_lines() -> None:
    # When
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files("kproxy", "tests")
    }

    # Then
    too_long = [
        f"{path.relative_to(ROOT)}: {length}" for path, length in lengths.items() if length > LONGEST_FILE
    ]
    assert not too_long, "split these by ideas:\n  " + "\n  ".join(too_long)


def test_no_folder_of_kproxy_has_more_than_24_modules_beside_each_other() -> None:
    # When
    counts = Counter(source.parent for source in source_files() if source.parent.name not in FLAT_ON_PURPOSE)

    # Then
    crowded = [
        f"{folder.relative_to(ROOT)}: {count}" for folder, count in counts.items() if count > MOST_MODULES
    ]
    assert not crowded, "give what belongs together a folder of its own:\n  " + "\n  ".join(crowded)


def test_no_module_is_a_junk_drawer() -> None:
    # When
    drawers = [
        path for path in python_files("kproxy", "tests") if {path.stem, path.parent.name} & JUNK_DRAWERS
    ]

    # Then
    assert not drawers, f"a function without a home lacks a noun: {relative(drawers)}"


def test_every_package_of_kproxy_explains_itself() -> None:
    # When
    silent = [
        path
        for path in (ROOT / "kproxy").rglob("__init__.py")
        if not path.read_text(encoding="utf-8").lstrip("# -").startswith(('"""', 'r"""', "Generated"))
    ]

    # Then
    assert not silent, f"these packages need a docstring that teaches them: {relative(silent)}"


def test_every_folder_with_source_files_is_a_package() -> None:
    # When
    folders = {path.parent for path in source_files()}

    # Then
    bare = sorted(folder for folder in folders if not (folder / "__init__.py").exists())
    assert not bare, f"these folders need an __init__.py: {relative(bare)}"


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a path of one machine", MACHINE_PATHS),
        ("a package registry", REGISTRIES),
        ("kproxy as if an index had it", FROM_AN_INDEX),
    ],
    ids=["machine_paths", "registries", "installation_from_an_index"],
)
def test_no_tracked_file_names(what: str, pattern: re.Pattern[str]) -> None:
    # When
    found = lines_with(pattern)

    # Then
    assert not found, f"{what} stands in\n  " + "\n  ".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "pip install {}",
        "`pip install --upgrade '{}'` and then",
        "kproxy needs it: pip install '{}[spark]'",
        "python -m pip install {}==0.1.0",
        "pipx install {}.",
        "uv tool install {}",
    ],
)
@pytest.mark.parametrize("name", ["kproxy", "kproxy-share-groups"])
def test_an_installation_from_an_index_is_noticed(line: str, name: str) -> None:
    assert FROM_AN_INDEX.search(line.format(name))


@pytest.mark.parametrize(
    "line",
    [
        "pip install '.[spark]' in a checkout, and `kproxy replay`",
        "pip install 'dist/kproxy_share_groups-0.1.0-py3-none-any.whl[spark]'",
        "RUN pip install --no-cache-dir /tmp/wheels/kproxy_share_groups-*.whl \\",
        'echo "Installing kproxy and what the demo needs into .venv/"',
        "  kproxy-share-groups[demo,spark]",
        "pip install . && kproxy run",
    ],
)
def test_an_installation_from_a_checkout_or_a_wheel_is_none_from_an_index(line: str) -> None:
    assert not FROM_AN_INDEX.search(line)
