"""The checkpoint of a query: its directory, its manifest, and whether Spark's own logs in it are whole."""
