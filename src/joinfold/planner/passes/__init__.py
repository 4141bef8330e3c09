"""The passes that turn a draft into a plan. Each file has one, a function from a plan and its context to a plan."""
