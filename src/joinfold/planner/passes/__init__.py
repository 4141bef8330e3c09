"""The passes that make a plan of a draft: a function per file, each from a plan and its context to a plan."""
