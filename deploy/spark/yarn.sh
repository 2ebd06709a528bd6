#!/usr/bin/env bash
# kproxy's Spark jobs on YARN: ./yarn.sh JOB [OPTIONS]. What to change is in README.md beside this file.
set -euo pipefail

SPARK_VERSION=${SPARK_VERSION:-4.0.0}
ENVIRONMENT=${ENVIRONMENT:-hdfs:///apps/kproxy/environment.tar.gz}
EXECUTORS=${EXECUTORS:-8}
DEPLOY_MODE=${DEPLOY_MODE:-cluster}

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
  --conf spark.yarn.appMasterEnv.PYSPARK_PYTHON=./environment/bin/python \
  --conf spark.executorEnv.PYSPARK_PYTHON=./environment/bin/python \
  "$(dirname "$0")/replay_job.py" "$@"
