"""What is wrong in the paper: each claim, a counterexample to rerun, how often, and what replaces it."""
