"""Other people's Kafka clients, through kproxy, on every broker version that is promised.

Clients, kproxy and brokers are three hosts: network namespaces with no route from the clients to the brokers. A
client that is told a broker's own address cannot reach it, so a leaked address fails the test by itself.

`backings` and `roster` define what is run: the columns and the rows of the matrix. `run` is the program that pytest
starts, or a person: it makes the namespaces (`namespaces`), starts a cluster and kproxy in theirs (`kproxy_host`), and
lets every client run its scenarios (`clients`, `java_clients`, `java_tools`, `kafkajs`). `matrix` writes the table.
"""
