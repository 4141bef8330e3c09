"""MERGE: the parts of a group, from all buckets, become answers. It has no state."""
