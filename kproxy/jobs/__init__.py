"""Questions to the state log, answered by Spark: `kproxy replay NAME`, or the same as a `spark-submit` entry point.

A job is a module with a `JOB`: its own options, and a function from them and the log to a DataFrame (`job`).
`registry` lists the jobs; `command_line` gives each the options that all have, runs it and prints what it found.

| folder | what |
|---|---|
| `sources` | where log records come from: Kafka, by one of two readers, or files; all yield the same rows |
| `folds` | `kproxy.statelog.state_log_fold` on executors: a log partition is read by one task, so nothing is shuffled |
| `history` | the silver table: one row per state batch, the changes that it tells of, time and offsets in steps |
| `analyses` | questions to the history: one job each; `pictures` draws what they find |
| `verify` | does the log say what it may, and what a running kproxy believes? |
"""
