"""The state of a bucket, without Spark: what it stores, how that is written in few chunks, how it is opened again."""
