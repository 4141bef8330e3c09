"""The bound query: inputs, expressions, join graph, and their canonical text. Frozen, and free of Spark and sqlglot."""
