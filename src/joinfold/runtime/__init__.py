"""Runs plans on Spark. This is the only package of the engine that imports pyspark."""
