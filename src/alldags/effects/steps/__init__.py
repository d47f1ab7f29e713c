"""Effects after some steps, in one fitted graph over time.

`way`: which variables carry an effect on; `recursion`: matrices of coefficients to responses step by step; `arrival`:
the probability that nothing has arrived by a step, or ever does.
"""
