"""Reading records of topics for share groups: from the partitions' leaders, and told at once of new ones.

`partition_reader` reads records, `log_ranges` finds where logs begin and end that have lost what is read,
`availability` and `tail` tell of new ones, `backlog_survey` measures what is left.
"""
