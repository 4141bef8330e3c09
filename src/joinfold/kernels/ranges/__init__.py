"""Sums over ranges: segment trees per key, and the order statistics that summed windows are made of."""
