"""The arithmetic of SHED: how budgets become rates, which keys are heavy, and how far off an estimate may be."""
