#!/usr/bin/env bash
# kproxy's Spark jobs on YARN: ./yarn.sh JOB [OPTIONS]. What to change is in README.md beside this file.
set -euo pipefail

SPARK_VERSION=${SPARK_VERSION:-4.0.0}
ENVIRONMENT=${ENVIRONMENT:-hdfs:///apps/kproxy/environment.tar.gz}
EXECUTORS=${EXECUTORS:-8}
DEPLOY_MODE=${DEPLOY_MODE:-cluster}

# What executors run is what the driver was told. In client mode the driver itself runs here, with a Python of this
# machine that has kproxy; in cluster mode it runs as they do.
export PYSPARK_PYTHON=./environment/bin/python
if [[ $DEPLOY_MODE == client ]]; then
  export PYSPARK_DRIVER_PYTHON=${PYSPARK_DRIVER_PYTHON:-python3}
else
  export PYSPARK_DRIVER_PYTHON=$PYSPARK_PYTHON
fi

exec spark-submit \
  --master yarn \
  --deploy-mode "$DEPLOY_MODE" \
  --name kproxy-replay \
  --num-executors "$EXECUTORS" \
  --executor-cores 4 \
  --executor-memory 4g \
  --driver-memory 1g \
  --packages "org.apache.spark:spark-sql-kafka-0-10_2.13:$SPARK_VERSION" \
  --archives "$ENVIRONMENT#environment" \
  "$(dirname "$0")/replay_job.py" "$@"
