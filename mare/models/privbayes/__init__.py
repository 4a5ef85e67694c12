"""PrivBayes: a Bayesian network learned and measured through the curator (Zhang et al. 2017; Bao et al. 2021, NIST 2018).

The default model. `model` runs the four steps, each with its share of the group's budget: one-way tables, network,
family tables, consistency. The recipe and what each part gave is in docs/benchmarks.md.
"""

from .model import PrivBayesModel

__all__ = ["PrivBayesModel"]
