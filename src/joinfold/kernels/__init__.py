"""Loops over arrays: the only room that knows numba.

Everything above works on whole arrays and calls down here once per sub-window or step. A kernel is a free function
on contiguous arrays; a class only owns the arrays of one structure and makes them longer when a kernel says so.
"""
