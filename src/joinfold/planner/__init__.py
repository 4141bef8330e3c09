"""Logical query to physical plan: what runs, and what no engine runs yet."""
