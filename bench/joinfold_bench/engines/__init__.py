"""Runs engines and times them: joinfold, Spark's own plans, DuckDB, and the limit of any engine in Python on Spark.

The *limit* hands the columns of a query to Python, which only counts the rows. No Python engine on Spark is faster.
"""
