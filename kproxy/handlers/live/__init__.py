"""Share-partitions in memory: loaded, led, acknowledged, released and written."""
