"""Questions to the state log, answered by Spark: `kproxy replay NAME`, or the same as a `spark-submit` entry point.

A job is a module with a `JOB`: its own options, and a function that makes a DataFrame of them and of what is read
(`job`). `registry` lists the jobs; `source_options` opens the log or the exported history that the command line names;
`command_line` adds the options that all jobs have, runs the job and prints its result (`result_writer`).

Two ports separate a job from what it reads: `sources.log_reader` (log records by offsets) and `history.log_history`
(silver rows by time). Exported history implements the second alone.

| folder | what |
|---|---|
| `sources` | reading log records: from Kafka, by one of two readers, or from files; all yield the same rows |
| `folds` | `kproxy.statelog.state_log_fold` on executors: a log partition is read by one task, so nothing is shuffled |
| `history` | the silver table, one row per state batch; changes of records, steps of time and offsets, selections |
| `analyses` | questions to the history: one job each; `pictures` draws their results |
| `verify` | the job that checks the log: against its invariants, and against a running kproxy |
| `export` | the job that writes the history as Parquet |

Each folder imports only those below it: `make layers` checks the order, and that there is no import circle.
"""
