"""The driver of a query on a cluster: ``python -m tests.cluster.driver MASTER FOLDER KIND``."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests.crashes.victim import main

PARTITIONS = 3

if __name__ == "__main__":
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
        "RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(sys.argv[1]).appName("joinfold faults")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    main(Path(sys.argv[2]), sys.argv[3], "function")
    session.stop()
