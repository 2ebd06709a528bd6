"""Real Apache Kafka for the tests and the demo: clusters, Kafka's own tools, and share group members.

`cluster.KafkaCluster` starts brokers as plain `java` processes on free loopback ports; `tools` runs Kafka's
command line tools, `tool_session` many of them in one JVM; `java_probe` and `share_members` are members of a
share group that a test scripts record by record, with Java's client and with confluent-kafka; `consumption`
lets several members share a topic by a rule. Jars come through Maven once (`jars`), pinned in `versions`.
Whatever is started here dies with the Python process that started it (`processes`). `python -m
tests.real_kafka` runs a cluster for exploring.
"""
