"""Who a client is, and what it may do, as Kafka's brokers decide it. Pure."""
