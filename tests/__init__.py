"""A package, so that `tests` is this folder: diffprivlib, which the benchmarks use, installs one of that name."""
