"""Reading records of topics for share groups: from the partitions' leaders, and told at once of new ones.

`partition_reader` reads records, `availability` and `tail` tell of new ones, `backlog_survey` measures what is left.
"""
