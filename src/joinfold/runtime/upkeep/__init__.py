"""Upkeep of the checkpoint of a stopped query: repairs and rescales it, always into a copy."""
