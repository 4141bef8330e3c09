"""The map: a query for everything that the language has, over the same streams, and the rate of each."""
