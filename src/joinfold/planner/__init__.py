"""Turns a logical query into a physical plan, and refuses what no engine runs yet."""
