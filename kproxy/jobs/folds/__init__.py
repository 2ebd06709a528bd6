"""Folding log partitions on executors, by the proxy's own `StateLogFold`."""
