"""YARN of Apache Hadoop on loopback: what `deploy/spark/yarn.sh` submits to."""
