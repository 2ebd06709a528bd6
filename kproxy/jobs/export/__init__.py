"""`kproxy replay export`: history as Parquet, so that it outlives the topic."""
