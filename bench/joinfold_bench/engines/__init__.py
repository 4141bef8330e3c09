"""How engines run and are timed: joinfold, Spark's own plans, the limit of any Python, and DuckDB."""
