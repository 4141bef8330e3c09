"""The meaning of queries, twice and slowly: `naive`, the definition in plain Python, and `duck`, as DuckDB SQL."""
