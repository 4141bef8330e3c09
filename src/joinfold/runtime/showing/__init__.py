"""A running query in a notebook and a terminal: its last answers, a live table of them, and a plot."""
