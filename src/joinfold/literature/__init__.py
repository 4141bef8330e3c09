"""The cost models of three papers, with misprints corrected: one file per paper, pure functions of statistics.

    kang    which structure to use on which window
    wang    which method to maintain the aggregate of a join with: PC, IC or TC
    tran    which inputs of a join to aggregate early

The engine does not use these models. It has its own cost model, with prices measured on the machine (`planner.cost`).

Windows are counted in rows, and rates in rows per second. A cost is per second, or per arrival if the name says so, in
the unit of the weights. Costs of one model can be compared with each other, but not with costs of another model.
"""
