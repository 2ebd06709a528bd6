"""Why share groups do not move: what the admin port tells of one, read as an SRE would."""
