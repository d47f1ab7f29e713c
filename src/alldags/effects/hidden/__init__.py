"""Hidden common causes: what an effect would be if something unmeasured acted on treatment, outcome and mediators.

A hidden cause of the treatment and of later nodes shifts every total effect by one term in the recursion along paths::

    t_k = beta_k . t - gamma_k,  gamma_k = g_k sd_k / sd_X      for a node k that it hits

with ``beta_k`` and ``sd_k`` the coefficients and noise of the *observed* regression of k, which the engines estimate,
and ``g_k`` a number that its strengths give (`strengths`). Draws of the regressions are made once; every strength is
arithmetic on them.
"""
