"""Answers: how one effect is computed.

An answer is a value: its mean and error, its draws, the mean outcome under both values of the treatment. There are
three kinds, chosen in one function (`choose`), and each is held to the general one by tests: a closed form where every
node on the way is normal and straight, an inner product where the outcome's regression alone bends, and rows pushed
through the nodes, draw by draw, for all else.
"""
