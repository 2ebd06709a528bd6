"""Tests of kproxy in front of real Kafka; what they stand on is in `tests.real_kafka`."""
