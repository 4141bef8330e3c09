"""PACK: rows become entries, and every bucket learns what it has to know of all rows."""
