"""Joint traits: what is lasting about units, for all variables at once, in panels of few waves.

Each variable has a trait in every unit, traits go together in any way, and have to do with the first wave; given that,
a unit's waves follow from each other. `panel` has the moments, `walk` goes over the variables in turn, `posterior` is
what one variable's regression comes out as.
"""
