"""The cost models of three papers, as published and corrected: one file per paper, pure functions of statistics.

    kang    which structure on which window, and what to give up when CPU or memory is short
    wang    which method keeps the aggregate of a join: the pairs, their changes, or charges on the rows
    tran    before which inputs of a join to aggregate

Windows are counted in rows and rates in rows per second. A cost is in the unit of the weights it was given, per second
or, where the name says so, per arrival: costs of one model compare with each other, not with those of another. The
engine does not use them: it has prices of its own, measured on this machine (`planner.cost`).
"""
