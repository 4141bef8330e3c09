"""The engine without Spark: PACK, the stages with state, and MERGE, as functions and classes over arrays."""
