"""Fitted models: the factors of one graph's posterior, and a weighted list of graphs.

Given the graph (and hyperparameters that nodes share), the posterior is a product over blocks; several graphs, shared
hyperparameters and completed tables are a weighted list of such products. Lists multiply, blocks add.
"""
