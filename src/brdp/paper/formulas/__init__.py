"""Each algorithm, theorem, remark and proposition of the paper as a small function, as printed."""
