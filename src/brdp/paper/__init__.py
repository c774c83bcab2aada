"""The paper as printed: its formulas, figures, tables, and errata.

*Guarantee:* none. What this package computes is what "Budget Recycling Differential Privacy"
(45th IEEE Symposium on Security and Privacy) prints, including formulas that promise more privacy
than they give. It exists to reproduce, to compare, and to correct. Nothing but the command line
imports it, and no release can reach it; docs/errata.md says what is wrong and what replaces it.
"""
