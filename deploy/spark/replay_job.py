# ruff: noqa: INP001 - a script for spark-submit, of no package
"""What `spark-submit` is given: `spark-submit … replay_job.py JOB [OPTIONS]` is `kproxy replay JOB [OPTIONS]`."""

from kproxy.jobs.command_line import main

main()
