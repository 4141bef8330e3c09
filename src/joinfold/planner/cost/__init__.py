"""The cost of a plan: how often it does each operation, times the price of the operation on this machine."""
