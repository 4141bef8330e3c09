"""The physical plan as types: what the planner makes, the runtimes run, explain prints and the cost model prices.

    columns     what the columns of frames, entries and totals are called, which is what they mean
    payload     what is summed of an input, and how aggregates are made of it
    combining   what has to look at combinations of rows
    timing      windows, delays and the rule of answering
    source      where the entries of an input come from
    stage       the stages
    edge        what travels from stage to stage
    stored      what a stage stores
    choice      what may be chosen for a stage; state is the same whatever it is
    probing     in which order windows are probed
    plan        all of it together
    measured    what a running bucket hands up

There are no arrays here and no Spark: a plan can be made, printed and pickled without either.
"""
