"""The bound query: inputs, expressions, join graph and canonical SQL. It depends neither on Spark nor on sqlglot."""
