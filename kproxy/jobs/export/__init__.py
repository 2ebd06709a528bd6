"""`kproxy replay export`: history as Parquet, so that it outlives the topic.

From a cluster it is incremental: what was exported is noted in a checkpoint, and the next run goes on from there. A
micro-batch that is run again, because a run was broken off, replaces its own files. From files it is one piece.

| module | what |
|---|---|
| `export` | the job: its options, and which of the three exports they mean |
| `exporter` | the streaming query: one micro-batch after another |
| `micro_batches` | what one task makes of its part of a micro-batch |
| `checkpoint` | notes in the checkpoint: which log it is of, and where the export of each log partition began |
| `exported_files` | the folders of an export: written, and read again |
"""
