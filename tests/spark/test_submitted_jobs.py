"""What a cluster runs: `spark-submit replay_job.py`, and the options that the manifests give it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kproxy.jobs.command_line import COMMON_OPTIONS
from kproxy.jobs.registry import JOBS

pytestmark = pytest.mark.spark

ROOT: Final = Path(__file__).parents[2]
DEPLOYMENT: Final = ROOT / "deploy" / "spark"
EARLY_LOG: Final = ROOT / "tests" / "unit" / "jobs" / "sources" / "data" / "kip_control.jsonl"
CALL: Final = re.compile(r"(?:kproxy replay|replay_job\.py|yarn\.sh) ([a-z-]+)((?:\s+-[^`]*)?)")
OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@pytest.mark.soak
def test_spark_submit_takes_a_job_as_kproxy_replay_does(tmp_path: Path) -> None:
    # Given
    out = tmp_path / "found.json"
    job = [DEPLOYMENT / "replay_job.py", "throughput", "--files", EARLY_LOG, "--format", "kip-control"]
    submit = [Path(sys.executable).with_name("spark-submit"), "--master", "local[1]"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    command = [str(part) for part in (*submit, *job, "--by", "group", "-o", "json", "--out", out)]

    # When
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)

    # Then
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(out.read_text())
    assert (row["groupId"], row["accepted"], row["released"]) == ("G1", 20, 3)
    # Spark puts both streams of a submitted program onto its standard output.
    assert json.loads(done.stdout.strip().splitlines()[-1])["job"] == "throughput"


@pytest.mark.soak
def test_kproxy_replay_answers_on_standard_output_and_says_all_else_on_standard_error() -> None:
    # Given
    job = ["throughput", "--files", str(EARLY_LOG), "--format", "kip-control", "--by", "group", "-o", "json"]
    command = [sys.executable, "-m", "kproxy", "replay", *job]

    # When
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)

    # Then
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["groupId"], row["accepted"], row["released"]) == ("G1", 20, 3)
    assert json.loads(done.stderr.splitlines()[-1])["job"] == "throughput"


@pytest.mark.parametrize(
    "document", ["README.md", "kubernetes.yaml", "../REPLAYING.md", "../OBSERVING.md", "../DEMO.md"]
)
def test_the_jobs_and_options_that_documents_name_are_there(document: str) -> None:
    # Given
    text = (DEPLOYMENT / document).resolve().read_text()
    joined = re.sub(r"\n\s+- ", " ", text)
    common = {name for option in COMMON_OPTIONS for name in option.opts}

    # When
    unknown = [
        f"{name} {option}"
        for name, options in CALL.findall(joined)
        for option in ["", *OPTION.findall(options.partition("\n")[0])]
        if name not in JOBS or (option and option not in common | options_of(name))
    ]

    # Then
    assert CALL.search(joined)
    assert not unknown


def options_of(name: str) -> set[str]:
    job = JOBS[name].load()
    return {flag for option in job.options for flag in option.opts} | ({"--plot"} if job.has_plot else set())
