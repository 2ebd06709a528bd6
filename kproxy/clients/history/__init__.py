"""What the records of the state log tell of the past, without Spark: rows, changes, and answers to questions. Pure."""
