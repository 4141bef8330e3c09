"""The physical plan as types: the planner makes it, the runtimes run it, explain prints it, the cost model prices it.

    column_names   the names of columns in frames, entries and totals: a name says what the column means
    payload        what is summed of an input, and how aggregates are made from the sums
    combining      what is computed for combinations of rows
    timing         windows, delays and the emission rule
    source         where the entries of an input come from
    stage          the stages
    edge           what one stage sends to another
    stored         what a stage stores
    choice         what may be chosen for a stage without changing its state
    probe_order    the order in which windows are probed
    plan           all of it together
    measured       what a running bucket has measured

This package needs neither arrays nor Spark: a plan can be made, printed and pickled without them.
"""
