"""The slow truth, twice: `naive`, the definition in plain Python, and `duck`, the same as DuckDB SQL."""
