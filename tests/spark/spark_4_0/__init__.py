"""PySpark 4.0.0 with Spark's own Kafka source, in a virtual environment of its own below `build/`."""
