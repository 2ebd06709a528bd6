"""Questions to the state log, answered by Spark: `kproxy replay NAME`, or the same as a `spark-submit` entry point.

A job is a module with a `JOB`: its own options, and a function from them and the log to a DataFrame (`job.py`).
`registry.py` lists the jobs; `command_line.py` gives each the options that all have, runs it and prints what it found.

The log comes from Kafka, through Spark's own source or through `kproxy-statelog`, or from files: every
`LogReader` (`log_reader.py`) yields the same rows (`raw_records.py`). What folds them is `kproxy.statelog.fold`, on
the executors (`folding.py`): a log partition is read by one task, in order, so nothing is shuffled before that, and the
driver never sees a log record. Analyses read `silver.py` instead: one row per state batch.
"""
